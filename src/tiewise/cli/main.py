"""The command `tiewise`: its commands, and how it says what cannot be done."""

from __future__ import annotations

import io
import re
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import click

from tiewise.cli import (
    backups,
    checks,
    data,
    demo,
    experiment,
    fit,
    plan,
    researchers,
    study,
    words,
)
from tiewise.cli.designs import design, enter, sheets
from tiewise.cli.help import completion, doctor
from tiewise.cli.help.completion import complete_file_names
from tiewise.cli.help.lists import GroupByJourney
from tiewise.cli.inviting import invite
from tiewise.cli.site import host
from tiewise.errors import COMMAND_PREFIX, NOTE_PREFIX, InputError, InputWarning
from tiewise.optional import explain

LONGEST_LINE = 2_000
SPELLINGS = {
    "ties=False": "--no-ties",
    "before=": "--from",
    "most=": "--max ",
    "analyse(robust=True) on the file of judgements": "tiewise fit FILE --robust",
    "write_template('FILE.typ')": "--save-template FILE.typ",
}
"""What messages of the library name and the command calls by another name."""


class _OneLineErrors(GroupByJourney):
    """Answers what the user can mend with one line and exit code 2."""

    def main(self, *args: Any, **extra: Any) -> Any:
        """Run; what is wrong with the command itself is one line too."""
        for stream in (sys.stdout, sys.stderr):
            if isinstance(stream, io.TextIOWrapper):
                stream.reconfigure(errors="replace")  # a name need not fit an old terminal
        standalone = extra.pop("standalone_mode", True)
        run: Any = super().main
        try:
            code = run(*args, **extra, standalone_mode=False)
        except click.UsageError as error:
            if not standalone:
                raise
            code = error.exit_code
            if error.message.startswith("Usage:"):
                error.show()
            else:
                command = error.ctx.command_path if error.ctx else "tiewise"
                _complain(f"{error.format_message().rstrip('.')} (see {command} --help)")
        if standalone:
            sys.exit(code)
        return code

    def invoke(self, ctx: click.Context) -> Any:
        """Call the command; what it cannot do is one line, with the way out."""
        try:
            with _warnings_in_one_line():
                return super().invoke(ctx)
        except InputError as error:
            _complain(_in_options(str(error)))
            ctx.exit(2)
        except (KeyboardInterrupt, click.Abort):
            _complain("stopped; nothing is left half-written")
            ctx.exit(130)
        except Exception as error:
            fault = _missing_library(error, ctx) or _database_fault(error)
            if fault is None:
                raise
            _complain(str(fault))
            ctx.exit(2)


def _missing_library(error: Exception, ctx: click.Context) -> InputError | None:
    """The extra that brings a library that is not installed."""
    if not isinstance(error, ModuleNotFoundError):
        return None
    return explain(error, f"{ctx.command_path} {ctx.invoked_subcommand or ''}".strip())


def _database_fault(error: Exception) -> InputError | None:
    """What is wrong with a database, where the error came from one and is not ours."""
    if "sqlalchemy" not in sys.modules:
        return None
    from tiewise.study.access.database_faults import explain

    return explain(error)


def _complain(words: str) -> None:
    line = " ".join(words.split())
    if len(line) > LONGEST_LINE:  # it quotes something huge; the way out stands at the end
        line = f"{line[: LONGEST_LINE // 2]} … {line[-LONGEST_LINE // 2 :]}"
    click.echo(f"{COMMAND_PREFIX}{line}", err=True)


def _in_options(words: str) -> str:
    """What the library calls areas= or force=True is --areas or --force on the command line."""
    for spelling, option in SPELLINGS.items():
        words = words.replace(spelling, option)
    # Not in paths and addresses, nor where only Python can say it, as in tie=Fixed(0.5).
    return re.sub(
        rf"(?<![\w/?&.-])({'|'.join(_parameters())})=(?!\w+\()(?:True\b)?(?=(['\"\w])?)",
        lambda match: f"--{match[1].replace('_', '-')}{' ' if match[2] else ''}",
        words,
    )


def _parameters() -> set[str]:
    """Options of all commands, spelt as parameters: join_islands for --join-islands."""
    parameters = [one for command in main.commands.values() for one in command.params]
    options = [option for parameter in parameters for option in parameter.opts]
    return {option[2:].replace("-", "_") for option in options if option.startswith("--")}


@contextmanager
def _warnings_in_one_line() -> Iterator[None]:
    """Our warnings as a line each. Those of other libraries are for programmers: `python -W`."""
    with warnings.catch_warnings():
        if not sys.warnoptions:
            warnings.simplefilter("ignore")
            warnings.simplefilter("always", InputWarning)
            warnings.showwarning = lambda message, *_, **__: _complain(
                f"{NOTE_PREFIX}{_in_options(str(message))}"
            )
        yield


@click.group(cls=_OneLineErrors, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="tiewise")
def main() -> None:
    """Comparative judgement with ties: from paired comparisons to qualities and uncertainty."""


_GROUPS = (
    demo, host, fit, data, study, invite, words, backups, researchers, plan, design, enter, sheets,
    experiment, checks, doctor, completion,
)  # fmt: skip
for _group in _GROUPS:
    for _command in _group.COMMANDS:
        main.add_command(_command)
complete_file_names(main.commands.values())


if __name__ == "__main__":
    main()
