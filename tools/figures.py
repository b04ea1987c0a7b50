"""Figures of the code's structure: what `make figures` measures and docs/architecture.md shows.

    python tools/figures.py            print the figures of this checkout
    python tools/figures.py --write    write them and the list of modules to docs/architecture.md

Coverage and test seconds come from the newest `make coverage`; they are kept in
docs/structure-figures.json beside the figures of the code before it was laid out anew.
"""

from __future__ import annotations

import ast
import json
import re
import statistics
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "architecture.md"
RECORD = ROOT / "docs" / "structure-figures.json"
PACKAGE = ROOT / "src" / "tiewise"

sys.path.insert(0, str(ROOT / "tools"))


def modules(package: Path = PACKAGE) -> Iterator[Path]:
    """Every module but the steps of database migrations."""
    for path in sorted(package.rglob("*.py")):
        if "migrations" not in path.parts:
            yield path


def folder_of(path: Path, package: Path = PACKAGE) -> str:
    """The folder of a module, as `web/judge`; the top is `.`."""
    return path.parent.relative_to(package).as_posix()


def folder_sizes(package: Path = PACKAGE) -> dict[str, tuple[int, int]]:
    """Modules (`__init__` apart) and lines of each folder."""
    count: Counter[str] = Counter()
    lines: Counter[str] = Counter()
    for path in modules(package):
        folder = folder_of(path, package)
        count[folder] += path.name != "__init__.py"
        lines[folder] += len(path.read_text(encoding="utf-8").splitlines())
    return {folder: (count[folder], lines[folder]) for folder in lines}


def function_lengths(package: Path = PACKAGE) -> list[int]:
    """Lines of every function, from `def` to its last."""
    lengths = []
    for path in modules(package):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                lengths.append((node.end_lineno or node.lineno) - node.lineno + 1)
    return lengths


def repeated_classes(package: Path = PACKAGE) -> list[str]:
    """Public class names that are used in more than one module."""
    names: Counter[str] = Counter()
    for path in modules(package):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        names.update({
            node.name for node in tree.body
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_")
        })  # fmt: skip
    return sorted(name for name, number in names.items() if number > 1)


def structure(package: Path = PACKAGE) -> dict[str, Any]:
    """All figures that are read off the source."""
    sizes, lengths = folder_sizes(package), function_lengths(package)
    return {
        "modules": sum(count for count, _ in sizes.values()),
        "lines": sum(lines for _, lines in sizes.values()),
        "folders": len(sizes),
        "most modules in a folder": max(count for count, _ in sizes.values()),
        "longest module": max(
            len(path.read_text(encoding="utf-8").splitlines()) for path in modules(package)
        ),
        "function length, median": statistics.median_low(lengths),
        "function length, nine in ten below": sorted(lengths)[int(0.9 * len(lengths))],
        "class names used twice or more": len(repeated_classes(package)),
    }


def module_list(package: Path = PACKAGE) -> str:
    """Every folder with its sentence, and every module with the first line of its docstring."""
    lines = ["```text", "src/tiewise/"]
    seen = {"."}
    for path in sorted(modules(package), key=_reading_order(package)):
        folder = folder_of(path, package)
        depth = 0 if folder == "." else folder.count("/") + 1
        if folder not in seen:
            seen.add(folder)
            init = path.parent / "__init__.py"
            name = f"{'  ' * depth}{folder.rsplit('/', 1)[-1]}/"
            lines.append(f"{name:<34}{_first_line(init)}")
        if path.name == "__init__.py" and folder != ".":
            continue
        name = f"{'  ' * (depth + 1)}{path.name}"
        lines.append(f"{name:<34}{_first_line(path)}")
    return "\n".join([*lines, "```"])


def _reading_order(package: Path) -> Any:
    """A folder's own modules first, then those of the folders within it."""

    def key(path: Path) -> tuple[object, ...]:
        parts = path.relative_to(package).parts
        return tuple((len(parts) - k > 1, part) for k, part in enumerate(parts))

    return key


def _first_line(path: Path) -> str:
    doc = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
    return doc.splitlines()[0] if doc else ""


def folder_table() -> str:
    """Modules and lines of each folder, as a table."""
    rows = ["| folder | modules | lines |", "|---|---|---|"]
    for folder, (count, lines) in folder_sizes().items():
        rows.append(f"| `{'top level' if folder == '.' else folder}` | {count} | {lines:,} |")
    return "\n".join(rows)


def comparison_table(record: dict[str, Any]) -> str:
    """The figures before the code was laid out anew, and now."""
    before, now = record["before"], record["now"]
    rows = ["| figure | before | now |", "|---|---|---|"]
    for name in now:
        rows.append(f"| {name} | {_shown(before.get(name))} | {_shown(now[name])} |")
    return "\n".join(rows)


def _shown(value: object) -> str:
    if value is None:
        return "–"
    return f"{value:,}" if isinstance(value, int) else str(value)


def walkthrough_counts() -> dict[str, int]:
    """How many files each walkthrough of docs/extending.md touches."""
    from walkthroughs import read_walkthroughs

    return {
        f"files for {one.title[0].lower() + one.title[1:]}": len(one.files)
        for one in read_walkthroughs()
    }


def replace_block(text: str, name: str, content: str) -> str:
    """The page with the generated block of this name filled anew."""
    pattern = rf"(<!-- generated: {name} -->\n).*?(<!-- end -->)"
    if not re.search(pattern, text, flags=re.DOTALL):
        raise SystemExit(f"{PAGE.name} has no block <!-- generated: {name} -->")
    return re.sub(pattern, lambda m: f"{m[1]}\n{content}\n\n{m[2]}", text, flags=re.DOTALL)


def generated_blocks(record: dict[str, Any]) -> dict[str, str]:
    """What the generated blocks of docs/architecture.md hold, by name."""
    return {
        "figures": comparison_table(record),
        "folders": folder_table(),
        "modules": module_list(),
    }


def main(words: list[str]) -> None:
    """Measure, print, and with --write bring the page up to date."""
    record = json.loads(RECORD.read_text(encoding="utf-8"))
    record["now"] |= structure() | walkthrough_counts()
    print(comparison_table(record))
    if repeated := repeated_classes():
        print("Class names used more than once:", ", ".join(repeated))
    if "--write" in words:
        RECORD.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
        page = PAGE.read_text(encoding="utf-8")
        for name, content in generated_blocks(record).items():
            page = replace_block(page, name, content)
        PAGE.write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
