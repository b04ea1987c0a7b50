"""Tables and numbers of the results as Markdown."""

from __future__ import annotations

from collections.abc import Iterable


def section(title: str, table: str) -> str:
    """A heading and what stands below it."""
    return f"## {title}\n\n{table}"


def grid(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """A table."""
    head = list(head)
    lines = [head, ["---"] * len(head), *rows]
    return "".join(f"| {' | '.join(cells)} |\n" for cells in lines)


def number(value: float | None, digits: int = 3) -> str:
    """So many digits of a number; a dash where there is none."""
    if value is None:
        return "–"
    if abs(value) >= 1000:
        return f"{float(f'{value:.{digits}g}'):,.0f}"
    return f"{value:.{digits}g}"
