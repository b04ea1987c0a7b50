"""`make bench-install`: room and time of the core and of each extra, into docs/dependencies.md.

Each is installed by pip into an environment of its own, from the wheel of this checkout. Times
depend on the network, or on pip's cache; room does not.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
import tomllib
from datetime import date
from pathlib import Path
from time import perf_counter
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "dependencies.md"
NOT_OURS = ("pip", "setuptools", "pkg_resources", "_distutils_hack", "wheel")
"""What an environment has before anything is installed."""
DEVELOPERS = ("dev", "bench", "comparison", "docs")


class Installed(NamedTuple):
    """What an environment came to."""

    name: str
    packages: int
    megabytes: int
    seconds: int


def main() -> None:
    """Measure everything, or the extras that are named, and write the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("extras", nargs="*")
    named = parser.parse_args().extras
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = [name for name in project["optional-dependencies"] if name not in DEVELOPERS]
    with tempfile.TemporaryDirectory() as folder:
        wheel = build_wheel(Path(folder))
        rows = [install(wheel, name, Path(folder)) for name in named or ["", *sorted(extras)]]
    print(table(rows))
    if not named:
        text = PAGE.read_text(encoding="utf-8")
        block = f"<!-- generated: sizes -->\n\n{table(rows)}\n\n<!-- end -->"
        text = re.sub(
            r"<!-- generated: sizes -->.*?<!-- end -->", lambda _: block, text, flags=re.S
        )
        PAGE.write_text(text, encoding="utf-8")


def build_wheel(folder: Path) -> Path:
    """The wheel of this checkout."""
    pip = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps"]
    subprocess.run([*pip, "--wheel-dir", str(folder), str(ROOT)], check=True)
    return next(folder.glob("tiewise-*.whl"))


def install(wheel: Path, extra: str, folder: Path) -> Installed:
    """An empty environment with the core, or with one extra."""
    place = folder / (extra or "core")
    subprocess.run([sys.executable, "-m", "venv", str(place)], check=True)
    python = place / ("Scripts" if sys.platform == "win32" else "bin") / "python"
    what = f"{wheel}[{extra}]" if extra else str(wheel)
    begin = perf_counter()
    subprocess.run([python, "-m", "pip", "install", "--quiet", what], check=True)
    seconds = perf_counter() - begin
    packages = next(place.glob("[Ll]ib/**/site-packages"))
    own = [path for path in packages.iterdir() if not path.name.startswith(NOT_OURS)]
    size = sum(file.stat().st_size for path in own for file in [path, *path.rglob("*")])
    number = sum(path.name.endswith(".dist-info") for path in own)
    return Installed(extra, number, round(size / 1e6), round(seconds))


def table(rows: list[Installed]) -> str:
    """The figures as a table of the page."""
    python = ".".join(map(str, sys.version_info[:2]))
    head = f"Measured on {date.today().isoformat()} with Python {python}."
    lines = ["| installed | packages | MB | seconds |", "|---|---|---|---|"]
    for row in rows:
        what = f"tiewise[{row.name}]" if row.name else "tiewise"
        lines.append(f"| `{what}` | {row.packages} | {row.megabytes} | {row.seconds} |")
    return "\n".join([head, "", *lines])


if __name__ == "__main__":
    main()
