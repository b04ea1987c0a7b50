"""Studies and results of earlier versions open with this one: see fixtures/version-0.1/README.md.

Only the `tiewise` command and plain SQL are used here, because Python names may change.
"""

from __future__ import annotations

import csv
import json
import re
import shutil
import socket
import sqlite3
import subprocess
import sys
import tarfile
import time
from collections import Counter
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.error import URLError
from urllib.request import Request, urlopen

import pytest
from click.testing import CliRunner

from regression.command import ROOT, entry_point

FIXTURES = Path(__file__).parent / "fixtures" / "version-0.1"
EXPECTED = json.loads((FIXTURES / "expected.json").read_text(encoding="utf-8"))
PATIENCE = 60


def done(*words: object) -> str:
    result = CliRunner().invoke(entry_point(), [str(word) for word in words])
    assert result.exit_code == 0, result.output
    return result.stdout


@pytest.fixture(autouse=True)
def desk(tmp_path, monkeypatch) -> Path:
    """What is not to be changed is copied to a folder of its own."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def study(desk) -> Path:
    return shutil.copytree(FIXTURES / "study", desk / "study")


@pytest.fixture
def results(desk) -> Path:
    return shutil.copytree(FIXTURES / "results", desk / "results")


def table(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


# Databases.


def counted(ask: Callable[[str], list[Any]], tables: dict[str, int]) -> dict[str, Any]:
    """Rows of every table, and answers of every kind, by plain SQL."""
    rows = {name: ask(f"SELECT count(*) FROM {name}")[0][0] for name in tables}
    outcomes = ask("SELECT outcome, count(*) FROM judgements GROUP BY outcome")
    excluded = ask("SELECT judge FROM exclusions WHERE excluded ORDER BY id")
    return {
        "rows": rows,
        "outcomes": dict(map(tuple, outcomes)),
        "excluded": [judge for (judge,) in excluded],
    }


def in_sqlite(folder: Path, tables: dict[str, int]) -> dict[str, Any]:
    with closing(sqlite3.connect(folder / "study.db")) as database:
        return counted(lambda sql: database.execute(sql).fetchall(), tables)


def in_postgresql(address: str, tables: dict[str, int]) -> dict[str, Any]:
    import psycopg

    with psycopg.connect(address.replace("+psycopg", "")) as database:
        return counted(lambda sql: database.execute(sql).fetchall(), tables)


def holds(counts: dict[str, Any], expected: dict[str, Any]) -> None:
    """The same rows; what answers mean is written down in more of them than before."""
    more = counts["rows"]["meaning"] - expected["rows"]["meaning"]
    assert more >= 0
    before = counts["rows"] | {"meaning": counts["rows"]["meaning"] - more}
    kept = counts | {"rows": before}
    assert kept == {key: expected[key] for key in ("rows", "outcomes", "excluded")}


def tells_what_it_holds(folder: Path, expected: dict[str, Any], *database: str) -> None:
    """Check, phase and export, on whichever database."""
    words = done("check", folder, *database)
    assert "Priors: paper (α² inverse-gamma(0.01, 0.01), δ exponential(0.01)" in words
    assert "All is well" in words
    assert done("phase", folder, *database).strip() == expected["phase"]
    done("export", folder, "--out", "tables", *database)
    # Neither what was taken back nor what an excluded judge said.
    states = Counter(row["state"] for row in table(Path("tables", "comparisons.csv")))
    assert states == expected["exported"]
    assert len(table(Path("tables", "judges.csv"))) == expected["rows"]["judges"]


def test_a_study_on_sqlite_opens_with_all_that_was_in_it(study):
    expected = EXPECTED["study"]
    tells_what_it_holds(study, expected)
    holds(in_sqlite(study, expected["rows"]), expected)


def loaded(address: str) -> None:
    import psycopg

    dump = (FIXTURES / "postgres.sql").read_text(encoding="utf-8")
    with psycopg.connect(address.replace("+psycopg", "")) as database:
        database.execute(dump)


def test_a_study_on_postgresql_opens_with_all_that_was_in_it(study, postgresql):
    address, expected = postgresql(empty=True), EXPECTED["postgres"]
    loaded(address)
    tells_what_it_holds(study, expected, "--database", address)
    holds(in_postgresql(address, expected["rows"]), expected)


@pytest.fixture(params=["sqlite", "postgresql"])
def of_then(request, study) -> tuple[dict[str, Any], str | None]:
    """A study as version 0.1 left it: what it holds, and the address of its database."""
    if request.param == "sqlite":
        return EXPECTED["study"], None
    address = request.getfixturevalue("postgresql")(empty=True)
    loaded(address)
    return EXPECTED["postgres"], address


def at(address: str | None) -> list[str]:
    return ["--database", address] if address else []


def revision(folder: Path, address: str | None, *, becomes: str = "") -> str:
    """The revision of a database, or the one that it is given by hand."""
    if address is None:
        database = sqlite3.connect(folder / "study.db")
    else:
        import psycopg

        database = psycopg.connect(address.replace("+psycopg", ""))
    with closing(database):
        if becomes:
            database.execute(f"UPDATE alembic_version SET version_num = '{becomes}'")
            database.commit()
        return database.execute("SELECT version_num FROM alembic_version").fetchone()[0]


def test_a_backup_is_made_before_the_tables_change_and_restores_what_was(study, of_then, request):
    expected, address = of_then
    before = revision(study, address)
    done("phase", study, *at(address))
    assert revision(study, address) > before
    (archive,) = (study / "backups").iterdir()
    with tarfile.open(archive) as tar:
        assert json.load(tar.extractfile("about.json"))["revision"] == before
    done("export", study, *at(address))  # which changes no table, and backs nothing up
    assert list((study / "backups").iterdir()) == [archive]
    empty = request.getfixturevalue("postgresql")(empty=True) if address else None
    done("restore", archive, "then", *at(empty))
    # One row more: that a backup was restored.
    rows = expected["rows"] | {"deeds": expected["rows"]["deeds"] + 1}
    counts = in_postgresql(empty, rows) if empty else in_sqlite(Path("then"), rows)
    holds(counts, expected | {"rows": rows})


def test_an_older_program_declines_a_newer_database_with_one_line(study, of_then):
    """Nothing of it is changed, and no backup is made of it."""
    _, address = of_then
    revision(study, address, becomes="9999")
    for words in (["phase", study], ["export", study], ["check", study], ["serve", study]):
        result = CliRunner().invoke(entry_point(), [*map(str, words), *at(address)])
        assert result.exit_code == 2, result.output
        assert re.fullmatch(
            r"tiewise: .* was made by a newer version of Tiewise.*\n", result.stderr
        ), result.stderr
    assert revision(study, address) == "9999"
    assert not (study / "backups").exists()


def test_a_study_goes_on_where_it_was(study):
    """New rows follow the old ones: a phase, an exclusion taken back, an invite, a fit."""
    expected = EXPECTED["study"]
    assert done("phase", study, "open").strip() == "open"
    done("include", study, expected["excluded"][0])
    done("invite", study)
    rows = in_sqlite(study, expected["rows"])["rows"]
    for name in ("phases", "exclusions", "invites"):
        assert rows[name] == expected["rows"][name] + 1
    done("fit", study, "--engine", "laplace", "--draws", "100", "--seed", "1", "--no-report")
    assert len(table(study / "results" / "items.csv")) == 8
    model = json.loads((study / "results" / "fit.json").read_text(encoding="utf-8"))["model"]
    assert model["variance"] == {"kind": "inverse-gamma", "shape": 0.01, "scale": 0.01}
    assert model["tie"] == {"kind": "exponential", "rate": 0.01}
    assert model["quality"]["share"] == 1


def answered(address: str, **headers: str) -> str:
    """What the site answers, as soon as it does."""
    end = time.monotonic() + PATIENCE
    while True:
        try:
            with urlopen(Request(address, headers=headers), timeout=10) as answer:
                assert answer.status == 200
                return str(answer.read().decode())
        except (URLError, ConnectionError) as error:
            refused = isinstance(getattr(error, "reason", error), ConnectionError)
            if not refused or time.monotonic() > end:
                raise
            time.sleep(0.1)


def test_links_and_tokens_of_then_open_the_site_of_now(study):
    """The snapshot of then is what partners and programs are shown."""
    expected = EXPECTED["study"]
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    command = [sys.executable, ROOT / "tests" / "regression" / "command.py"]
    words = ["serve", study, "--port", str(port), "--no-live"]
    site = subprocess.Popen([*command, *words], stdout=subprocess.DEVNULL)
    try:
        home = f"http://127.0.0.1:{port}"
        assert "A small study of version 0.1" in answered(home)
        assert "ward" in answered(f"{home}/shared/{expected['shared_link']}")
        bearer = {"Authorization": f"Bearer {expected['api_token']}"}
        estimates = json.loads(answered(f"{home}/api/v1/estimates", **bearer))
        assert len(estimates["items"]) == 8
        answered(f"{home}/j/{expected['personal_link']}")
    finally:
        site.terminate()
        site.wait(PATIENCE)


MANY = 100_000
NUMBERS = {
    "sqlite": "(WITH RECURSIVE n(k) AS (SELECT 1 UNION ALL SELECT k + 1 FROM n WHERE k < {many}) "
    "SELECT k FROM n)",
    "postgresql": "(SELECT generate_series(1, {many}) AS k)",
}
"""The numbers from 1 on, in the words of each database."""


def with_many_judgements(folder: Path, address: str | None) -> None:
    """The study of then, grown to 100,000 judgements by 1,000 judges."""
    numbers = NUMBERS["postgresql" if address else "sqlite"]
    moment = "TIMESTAMP '2026-01-01 10:00:00'" if address else "'2026-01-01 10:00:00.000000'"
    chose = "true" if address else "1"
    statements = (
        f"""INSERT INTO judges (id, secret, language, consent, consented, chose)
            SELECT 'j' || k, 's' || k, 'en', '1', {moment}, {chose}
            FROM {numbers.format(many=1000)} AS n""",
        f"""INSERT INTO offers (id, judge, "left", "right", kind, shown, closed)
            SELECT 1000 + k, 'j' || (1 + k % 1000), '1', '2', 'new', {moment}, {moment}
            FROM {numbers.format(many=MANY)} AS n""",
        f"""INSERT INTO judgements (id, offer, outcome, answered)
            SELECT 1000 + k, 1000 + k, 'left', {moment} FROM {numbers.format(many=MANY)} AS n""",
    )
    if address:
        import psycopg

        database: Any = psycopg.connect(address.replace("+psycopg", ""))
        database.execute("SELECT pg_catalog.set_config('search_path', 'public', false)")
    else:
        database = sqlite3.connect(folder / "study.db")
    with closing(database):
        for statement in statements:
            database.execute(statement)
        database.commit()


@pytest.mark.slow
@pytest.mark.thorough
def test_an_upgrade_with_100_000_judgements_takes_at_most_ten_seconds(study, of_then):
    """From the end of the old site to the first answer of the new one, its backup included."""
    _, address = of_then
    with_many_judgements(study, address)
    command = [sys.executable, ROOT / "tests" / "regression" / "command.py"]
    begun = time.monotonic()
    subprocess.run([*command, "upgrade", study, *at(address)], check=True, capture_output=True)
    upgraded = time.monotonic() - begun
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    words = ["serve", study, "--port", str(port), "--no-live", *at(address)]
    site = subprocess.Popen([*command, *words], stdout=subprocess.DEVNULL)
    try:
        answered(f"http://127.0.0.1:{port}/health")
        whole = time.monotonic() - begun
    finally:
        site.terminate()
        site.wait(PATIENCE)
    print(f"upgrade {upgraded:.1f} s, to the first answer {whole:.1f} s")
    (archive,) = (study / "backups").iterdir()
    with tarfile.open(archive) as tar:
        assert json.load(tar.extractfile("about.json"))["judgements"] > MANY
    assert whole < 10


# Results folders.


def test_a_results_folder_opens_and_is_reported_again(results):
    """The table of items is as it was; bands are new in it."""
    before = table(results / "items.csv")
    done("report", results)
    page = (results / "report.html").read_text(encoding="utf-8")
    assert "Which ward is greener?" in page
    after = table(results / "items.csv")
    bands = [row.pop("band") for row in after]
    assert after == before
    assert set(bands) <= {"", *map(str, range(1, len(after) + 1))}


@pytest.mark.slow
def test_a_briefing_is_made_of_it(results):
    done("briefing", results, "--out", "briefing.pdf")
    assert Path("briefing.pdf").read_bytes().startswith(b"%PDF")


def test_results_with_and_without_terms_are_set_side_by_side(results):
    done("compare", results, FIXTURES / "results-terms", "--out", "comparison.csv")
    assert len(table(Path("comparison.csv"))) == 2


def test_judges_of_then_are_looked_at(results):
    done("judges", results, "--splits", "0", "--out", "judges")
    assert len(table(Path("judges", "judges.csv"))) == 5
