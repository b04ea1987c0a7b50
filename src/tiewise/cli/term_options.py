"""The options of a fit that ask for more than one quality per item and one threshold for all."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

Command = Callable[..., Any]

OPTIONS = (
    click.option(
        "--formula", help="what may explain quality, such as 'deprivation + log(population)'"
    ),
    click.option("--covariates", help="table of items for --formula; default: columns of the map"),
    click.option("--order", is_flag=True, help="let the first of a pair have an advantage"),
    click.option("--advantage", help="column of numbers: what favours the first of a pair"),
    click.option("--judge-groups", help="column with groups of judges whose views to compare"),
    click.option("--judges", help="table of judges in which to find --judge-groups"),
    click.option("--waves", help="second file, or a column that says which wave: what changed"),
    click.option("--sharpness", is_flag=True, help="let careless judges weigh less"),
    click.option("--thresholds", is_flag=True, help="let judges differ in how readily they tie"),
)

NAMES = (
    "covariates", "formula", "order", "advantage", "judge_groups", "judges", "waves", "sharpness",
    "thresholds",
)  # fmt: skip


def with_terms(command: Command) -> Command:
    """A command with these options."""
    for option in reversed(OPTIONS):
        command = option(command)
    return command


def terms(options: dict[str, Any]) -> dict[str, Any]:
    """What was asked for, as `analyse` takes it."""
    return {name: options[name] for name in NAMES}
