"""What version 0.1 computed is what this one computes: routes, schema, help, densities, results.

Where a difference is meant, say so in the changelog and record again:
`python tests/regression/record.py`.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from regression import record
from support.everyday import thorough

RECORDED = record.read_digests()
CASES = record.cases()


@pytest.fixture(scope="module")
def study(tmp_path_factory) -> Path:
    """The small study that most cases fit."""
    folder = tmp_path_factory.mktemp("small")
    record.prepare(folder)
    return folder


# Listings.


def test_the_site_has_the_same_routes():
    assert record.routes() == record.ROUTES.read_text(encoding="utf-8")


def test_a_fresh_study_has_the_same_schema():
    assert record.schema() == record.SCHEMA.read_text(encoding="utf-8")


def test_every_command_has_the_same_help():
    assert record.help_texts() == record.HELP.read_text(encoding="utf-8")


def flat(value: Any, where: str = "") -> dict[str, float]:
    """Every number by its place."""
    if isinstance(value, float | int):
        return {where: float(value)}
    parts = value.items() if isinstance(value, dict) else enumerate(value)
    return {k: v for key, part in parts for k, v in flat(part, f"{where}/{key}").items()}


def test_log_densities_and_their_slopes_are_the_same_numbers():
    before = flat(json.loads(record.DENSITY.read_text(encoding="utf-8")))
    now = flat(record.density_points())
    assert now.keys() == before.keys()
    assert len(now) > 400
    far = {k: (now[k], before[k]) for k in now if not np.isclose(now[k], before[k], 1e-9, 1e-9)}
    assert not far


# Results.


def agrees(name: str, study: Path) -> None:
    """The same bytes; where other libraries or another processor round differently, the same fit.

    There, draws part after a while, and means and standard deviations agree as far as draws can.
    """
    case, before = CASES[name], RECORDED["cases"][name]
    if case.missing:
        pytest.skip("real studies not beside this checkout")
    now = record.compute(case, study)
    assert now["commands"] == before["commands"], "another case than the one that was recorded"
    assert now["sha256"].keys() == before["sha256"].keys()
    if now["sha256"] == before["sha256"]:
        return
    if record.made_with() == RECORDED["made with"]:
        pytest.fail(f"{name}: other bytes than were recorded; {differences(now, before)}")
    if "items" not in before:
        pytest.skip(f"recorded with {RECORDED['made with']}, and nothing here to compare closely")
    assert [row[0] for row in sorted(now["items"])] == [row[0] for row in sorted(before["items"])]
    close(now["items"], before["items"])


def differences(now: dict[str, Any], before: dict[str, Any]) -> str:
    """Which files differ, and the largest difference among the numbers that are written out."""
    files = [name for name in before["sha256"] if now["sha256"][name] != before["sha256"][name]]
    differences = [f"different files: {', '.join(files)}"]
    for name in ("items", "parameters", "mean"):
        if name not in before:
            continue
        one, two = numbers(now[name]), numbers(before[name])
        if one.keys() != two.keys():
            differences.append(f"{name}: other rows ({sorted(one.keys() ^ two.keys())[:4]})")
        else:
            largest = max(abs(one[key] - two[key]) for key in one)
            differences.append(f"{name}: largest difference {largest:.2g} (rounded to six digits)")
    return "; ".join(differences)


def numbers(table: Any) -> dict[str, float]:
    rows = [[key, value] for key, value in table.items()] if isinstance(table, dict) else table
    return {
        f"{row[0]} {k}": value
        for row in rows
        for k, value in enumerate(row[1:])
        if value is not None
    }


def close(now: list[list[Any]], before: list[list[Any]]) -> None:
    """Six hundred draws know a mean to about a twentieth of its standard deviation."""
    known = {row[0]: row for row in now}
    for item, mean, *sd in before:
        assert abs(known[item][1] - mean) < 0.25 * (sd[0] if sd and sd[0] else 1e-3)


LONG_EXPERIMENTS = [f"experiment-{name}" for name in ("delta", "efficiency", "scalability", "ties")]


def test_every_case_is_recorded():
    assert list(RECORDED["cases"]) == list(CASES)


@pytest.mark.slow
@pytest.mark.parametrize("name", thorough(CASES, *LONG_EXPERIMENTS))
def test_every_case_gives_the_same_bytes(name, study):
    agrees(name, study)
