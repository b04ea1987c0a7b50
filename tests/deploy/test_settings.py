"""What deploy/ sets is what `tiewise serve` reads."""

from __future__ import annotations

import re

import click
import pytest

from support.containers import ROOT
from tiewise.cli.study import serve

DEPLOY = ROOT / "deploy"


def variables_of(command: click.Command) -> set[str]:
    """The environment variables that a command reads."""
    prefix = command.context_settings["auto_envvar_prefix"]
    names = {f"{prefix}_{option.name.upper()}" for option in command.params if option.name}
    return names | {option.envvar for option in command.params if isinstance(option.envvar, str)}


@pytest.mark.parametrize("name", ["Containerfile", "compose.yaml", "tiewise.service"])
def test_every_variable_is_an_option_of_serve(name):
    named = set(re.findall(r"\bTIEWISE_[A-Z_]+", (DEPLOY / name).read_text(encoding="utf-8")))
    assert named
    assert named <= variables_of(serve)


def test_the_example_has_every_setting_without_a_default():
    needed = set(re.findall(r"\$\{([A-Z_]+)\}", (DEPLOY / "compose.yaml").read_text("utf-8")))
    example = (DEPLOY / "example.env").read_text(encoding="utf-8")
    assert needed
    assert needed == set(re.findall(r"^([A-Z_]+)=", example, re.MULTILINE))
