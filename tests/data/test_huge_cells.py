"""Tables with cells that no table should have: one short line, in bounded time."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from tiewise.cli.main import main

LONG = "x" * 200_000


def fit(path: Path) -> str:
    """What `tiewise fit` says about a file."""
    result = CliRunner().invoke(main, ["fit", str(path)])
    assert result.exit_code == 2, result.output
    assert result.stderr.count("\n") == 1
    assert len(result.stderr) < 2_500, "a line, not a page"
    return result.stderr


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (f"winner,loser,{LONG}\na,b,c\n", "has a name of 200,000 letters"),
        (f'winner,loser,"{LONG}\na,b,c\n', "a name of 200,00.* letters; is a quote missing"),
        (f"winner,loser{',y' * 100_000}\na,b\n", "100,002 columns, and 20,000 are the most"),
        (f"winner,loser\na,b\n{LONG},{LONG}\n", "compared with itself"),
        (f"{LONG[:9_000]},loser\na,b\n", "no known format has the columns"),
        (f"winner,loser\n{LONG},b,c\n", "3 fields where the first line has 2"),
    ],
)
def test_a_huge_cell_is_one_short_line(tmp_path, text, words):
    path = tmp_path / "votes.csv"
    path.write_text(text, encoding="utf-8")
    assert re.search(words, fit(path))
