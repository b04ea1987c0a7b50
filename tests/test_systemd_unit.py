"""deploy/tiewise.service: systemd's own tools find nothing wrong with it, and little exposed."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tiewise.cli.main import main

UNIT = Path(__file__).parents[1] / "deploy" / "tiewise.service"
EXPOSURE = 15
"""In tenths: 0 is a service that can do nothing, 100 one that can do everything."""

systemd = pytest.mark.skipif(
    shutil.which("systemd-analyze") is None, reason="systemd-analyze is not installed"
)


def analyze(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["systemd-analyze", *words], capture_output=True, text=True, check=False)


@systemd
def test_systemd_finds_nothing_wrong(tmp_path):
    """The program it starts is the only thing that need not be here."""
    text = UNIT.read_text(encoding="utf-8")
    assert text.count("/opt/tiewise/bin/tiewise serve") == 1
    copy = tmp_path / UNIT.name
    copy.write_text(text.replace("/opt/tiewise/bin/tiewise serve", f"{sys.executable} serve"))
    verdict = analyze("verify", str(copy))
    assert (verdict.returncode, verdict.stdout + verdict.stderr) == (0, "")
    copy.write_text(copy.read_text().replace("ProtectSystem=strict", "ProtectSystem=stricter"))
    verdict = analyze("verify", str(copy))
    assert "stricter" in verdict.stdout + verdict.stderr


@systemd
def test_little_is_exposed():
    verdict = analyze("security", "--offline=true", f"--threshold={EXPOSURE}", str(UNIT))
    assert verdict.returncode == 0, verdict.stdout[-200:]


def test_its_variables_are_options_of_serve():
    names = set(re.findall(r"^Environment=TIEWISE_(\w+)=", UNIT.read_text(encoding="utf-8"), re.M))
    assert names
    options = {one.name.upper() for one in main.commands["serve"].params}
    assert names <= options
