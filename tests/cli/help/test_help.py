"""Help that can be read, completion in a real shell, and `tiewise doctor`."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections import Counter
from importlib.metadata import version
from pathlib import Path

import click
import pytest

from support.command import done
from support.missing import hide
from tiewise.cli.help.completion import SHELLS
from tiewise.cli.help.lists import CommandByTopic
from tiewise.cli.help.topics import JOURNEYS, TOPICS
from tiewise.cli.main import main


def test_every_command_is_in_one_journey():
    listed = Counter(name for names in JOURNEYS.values() for name in names)
    assert listed == Counter([*main.commands])


def test_every_option_of_a_fit_is_in_one_topic():
    topics = Counter(name for names in TOPICS.values() for name in names)
    assert max(topics.values()) == 1
    options = {one.opts[0] for one in main.commands["fit"].params if isinstance(one, click.Option)}
    assert options <= set(topics)


@pytest.mark.parametrize(
    "name", [name for name, own in main.commands.items() if isinstance(own, CommandByTopic)]
)
def test_lists_by_topic_leave_nothing_out(name):
    text = done(name, "--help").output
    lines = [line for line in text.splitlines() if line.startswith("  -")]
    first = [line.split()[0].rstrip(",") for line in lines]
    options = [one.opts[0] for one in main.commands[name].params if isinstance(one, click.Option)]
    assert len(options) > 30
    for option in [*options, "-h"]:
        assert first.count(option) == 1, option
    assert "\nOptions:" not in text


def test_commands_are_listed_in_whole_sentences():
    text = done("--help").output
    assert "..." not in text.replace("[ARGS]...", "")
    for name in main.commands:
        assert sum(line.startswith(f"  {name} ") for line in text.splitlines()) == 1, name


def completed(words: str, folder: Path) -> set[str]:
    """What a real bash offers after these words, with our script."""
    script = f"""
        PATH={Path(sys.executable).parent}:$PATH
        source <(tiewise completion bash)
        compopt() {{ echo "compopt $*"; }}
        COMP_WORDS=({words}); COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1))
        _tiewise_completion tiewise
        printf '%s\\n' "${{COMPREPLY[@]}}"
    """
    ran = subprocess.run(
        ["bash", "-c", script], cwd=folder, capture_output=True, text=True, check=True
    )
    return set(ran.stdout.split())


@pytest.mark.skipif(shutil.which("bash") is None, reason="no bash here")
def test_bash_completes_commands_choices_and_files(tmp_path):
    assert completed("tiewise mo", tmp_path) == {"models"}
    assert completed("tiewise fit a.csv --prior ne", tmp_path) == {"network"}
    assert completed("tiewise fit ans", tmp_path) == {"compopt", "-o", "default"}


@pytest.mark.parametrize("shell", SHELLS)
def test_every_shell_has_its_script(shell):
    text = done("completion", shell).stdout
    assert f"_TIEWISE_COMPLETE={shell}_complete" in text


def test_the_doctor_says_what_is_there_and_how_to_get_what_is_not(monkeypatch):
    hide(monkeypatch, "geopandas")
    monkeypatch.setenv("NUMBA_DISABLE_JIT", "1")
    facts = {one["what"]: one for one in json.loads(done("doctor", "--json").stdout)}
    assert facts["numpy"]["state"] == version("numpy")
    assert facts["tiewise"]["state"].startswith(version("tiewise"))
    assert facts["maps"]["state"] == "without geopandas"
    assert facts["maps"]["advice"] == "pip install 'tiewise[maps]'"
    assert facts["site"]["advice"] == ""
    assert "unset it" in facts["NUMBA_DISABLE_JIT"]["advice"]


def test_the_doctor_prints_each_finding_under_its_topic(monkeypatch):
    hide(monkeypatch, "typst")
    lines = done("doctor").stdout.splitlines()
    assert [line for line in lines if line and not line.startswith(" ")] == [
        "Versions", "Extras", "Processor", "Compiled loops", "Disk", "Programs",
    ]  # fmt: skip
    place = next(k for k, line in enumerate(lines) if line.startswith("  report "))
    assert lines[place].endswith("without typst")
    assert lines[place + 1].endswith("→ pip install 'tiewise[report]'")
