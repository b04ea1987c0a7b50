"""The options of a fit that ask for more than one quality per item and one threshold for all."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from tiewise.cli.help.lists import CommandByTopic
from tiewise.model import BY_GROUP

Command = Callable[..., Any]

PLAIN = "yes"
"""The value of a flag that stands alone."""


def _is_set(ctx: click.Context, parameter: click.Parameter, value: str | None) -> bool | str:
    """What `TermOptions` takes: True for the flag alone."""
    return True if value == PLAIN else value or False


def _of_groups(name: str, words: str) -> Command:
    """A flag that may have the value by-group."""
    kind, words = click.Choice([PLAIN, BY_GROUP]), f"{words}; {BY_GROUP}: groups differ in it"
    return click.option(name, type=kind, metavar=f"[{BY_GROUP}]", callback=_is_set, help=words)


OPTIONS = (
    click.option(
        "--formula", help="what may explain quality, such as 'deprivation + log(population)'"
    ),
    click.option("--covariates", help="table of items for --formula; default: columns of the map"),
    _of_groups("--order", "let the first of a pair have an advantage"),
    click.option(
        "--advantage", help="column of numbers, or formula of several: what favours the first"
    ),
    click.option("--judge-groups", help="column with groups of judges whose views to compare"),
    click.option("--judges", help="table of judges in which to find --judge-groups"),
    click.option("--waves", help="second file, or a column that says which wave: what changed"),
    click.option("--by", help="column, such as language: a leaderboard for each of its values"),
    _of_groups("--sharpness", "let careless judges weigh less"),
    _of_groups("--thresholds", "let judges differ in how readily they tie"),
)

NAMES = (
    "covariates", "formula", "order", "advantage", "judge_groups", "judges", "waves", "by",
    "sharpness", "thresholds",
)  # fmt: skip
FLAGS = ("--order", "--sharpness", "--thresholds")


class CommandWithTerms(CommandByTopic):
    """A command with terms, whose flags may stand before any other word."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse; a flag that `by-group` does not follow stands alone."""
        end = args.index("--") if "--" in args else len(args)
        alone = [k for k in range(end) if args[k] in FLAGS and args[k + 1 : k + 2] != [BY_GROUP]]
        words = [f"{word}={PLAIN}" if k in alone else word for k, word in enumerate(args)]
        return super().parse_args(ctx, words)


def with_terms(command: Command) -> Command:
    """A command with these options."""
    for option in reversed(OPTIONS):
        command = option(command)
    return command


def terms(options: dict[str, Any]) -> dict[str, Any]:
    """What was asked for, as `analyse` takes it."""
    return {name: options[name] for name in NAMES}
