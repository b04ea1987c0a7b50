"""The command, typed: what it answers where it can, and its one line where it cannot."""

from __future__ import annotations

import re

from click.testing import CliRunner, Result

from tiewise.cli.main import main


def run(*words: object, answer: str | None = None) -> Result:
    """What becomes of a command; `answer` is typed where it asks."""
    return CliRunner().invoke(main, [str(word) for word in words], input=answer)


def done(*words: object, answer: str | None = None) -> Result:
    """The same of a command that has to succeed."""
    result = run(*words, answer=answer)
    assert result.exit_code == 0, result.output
    return result


def refusal(*words: object) -> str:
    """The one line on standard error of a command that has to be refused."""
    result = run(*words)
    assert result.exit_code == 2, result.output
    assert re.fullmatch(r"tiewise: .*\n", result.stderr), result.stderr
    return result.stderr
