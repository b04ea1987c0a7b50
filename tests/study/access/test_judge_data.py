"""Requests of judges: all that is stored of them, and its erasure."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner
from sqlalchemy import text

from tiewise.cli.main import main
from tiewise.data.answers import FIRST
from tiewise.errors import InputError
from tiewise.pairing.policies import OrderedPair
from tiewise.study.access.judge_data import find_judge, judge_data, withdraw_for
from tiewise.study.create import create_study
from tiewise.study.judge_store import JudgeStore
from tiewise.study.researcher_store import ResearcherStore
from tiewise.study.schema import metadata
from tiewise.study.study import Study
from tiewise.study.values import Kind, NewJudge


@pytest.fixture(params=["sqlite", "postgresql"])
def store(request, tmp_path) -> JudgeStore:
    if request.param == "sqlite":
        return JudgeStore(f"sqlite:///{tmp_path / 's.db'}")
    return JudgeStore(request.getfixturevalue("postgresql")())


def active(store: JudgeStore, role: str = "a nurse in Ash") -> NewJudge:
    """A judge of whom every table has something."""
    new = store.add_judge(consent="1", language="en", about={"role": role}, code=store.invite(1)[0])
    assert new is not None
    store.set_groups(new.judge, ["Ashdale"])
    for left, right in (("a", "b"), ("c", "d"), ("b", "c")):
        offer = store.offer(new.judge, OrderedPair(left, right), Kind.NEW)
        store.answer(new.judge, offer.id, FIRST)
    store.undo(new.judge)
    ResearcherStore(store).exclude(new.judge.id, "clicked in a hurry")
    return new


def test_everything_of_a_judge_is_told_and_nothing_of_others(store):
    mine, other = active(store), active(store, "an officer in Elm")
    data = judge_data(store, find_judge(store, mine.judge.id))
    assert data["judge"]["id"] == mine.judge.id
    assert data["judge"]["consented"].endswith("+00:00")
    assert data["groups"] == ["Ashdale"]
    assert data["answers about themselves"] == [{"field": "role", "value": "a nurse in Ash"}]
    assert len(data["pairs shown"]) == 4
    assert [row["undone"] is None for row in data["judgements"]] == [True, True, False]
    assert data["left out of fits"][0]["reason"] == "clicked in a hurry"
    text_ = json.dumps(data)
    assert other.judge.id not in text_
    assert "officer" not in text_


def test_a_table_that_names_judges_is_not_forgotten(store):
    """Walks the schema: a new table with a judge in it has to be told of, or argued here."""
    naming = {table.name for table in metadata.tables.values() if "judge" in table.c}
    listed = {"said", "known", "offers", "exclusions", "lists", "return_links", "identifiers"}
    assert naming == {*listed, "erased"}  # erased: after withdrawal


def test_a_personal_link_leads_to_its_judge(store):
    new = active(store)
    assert find_judge(store, f"https://x.org/wards/j/{new.secret}\n").id == new.judge.id
    for unknown in ("nobody", "https://x.org/j/" + "0" * 32, "a\0b", ""):
        with pytest.raises(InputError, match="no judge"):
            find_judge(store, unknown)


def test_a_withdrawal_on_request_leaves_nothing_but_its_record(store):
    new = active(store)
    assert withdraw_for(store, new.judge, judgements_too=True) == 3
    with store.reading() as connection:
        for table in metadata.sorted_tables:
            rows = repr(connection.execute(text(f'SELECT * FROM "{table.name}"')).all())
            expected = 1 if table.name == "erased" else 0
            assert rows.count(new.judge.id) == expected, table.name
            assert "nurse" not in rows
            assert "hurry" not in rows
    actions = [row["what"] for row in ResearcherStore(store).audit_log()]
    assert actions[0] == "withdraw judge"


def test_both_are_commands(tmp_path):
    (tmp_path / "items.csv").write_text("name\na\nb\nc\nd\n", encoding="utf-8")
    create_study(tmp_path / "s", question="Which?", items=tmp_path / "items.csv")
    store = Study.open(tmp_path / "s").store()
    new = active(store)
    folder, link = str(tmp_path / "s"), f"https://x.org/j/{new.secret}\n"
    done = CliRunner().invoke(main, ["judge-data", folder, "-"], input=link)
    assert json.loads(done.output)["judge"]["id"] == new.judge.id
    done = CliRunner().invoke(main, ["withdraw", folder, new.judge.id, "--answers", "keep"])
    assert done.output == f"{new.judge.id} has withdrawn; answers erased: 0\n"
    assert len(list(store.rows())) == 3
    done = CliRunner().invoke(main, ["withdraw", folder, "-", "--answers", "erase"], input=link)
    assert done.exit_code == 2
    assert "a link ends when its judge withdraws" in done.output
    done = CliRunner().invoke(main, ["withdraw", folder, new.judge.id, "--answers", "erase"])
    assert done.output.endswith("answers erased: 3\n")
    assert list(store.rows()) == []
