"""Fifty requests of one judge at the same moment: no error, and nothing stored twice or half."""

from __future__ import annotations

from itertools import combinations_with_replacement
from typing import Any

import pytest

from support.everyday import everyday
from support.form_browser import Visitor
from support.races import ACTIONS, Asked, Contestant, contestant, race, rows_of
from support.site import edited
from tiewise.study.create import create_study
from tiewise.web.app import make_app
from tiewise.web.security import RateLimit, RateLimits

AT_ONCE = 50
NO_LIMIT = RateLimits(*[RateLimit(10**9, 60)] * len(RateLimits()))
PANEL = '\n[panel]\nidentifiers = ["PID"]\n'
FIELD = """
[[judges.fields]]
name = "role"
label = "Role"
"""
EVERY_DAY = [("groups", "groups"), ("answer", "withdraw")]
SLOW = [
    *((name, name) for name in ("pair", "answer", "undo", "withdraw")),
    *((name, "withdraw") for name in ("groups", "pair", "undo")),
    ("withdraw", "withdraw about"),
]
OTHERS = [
    pair
    for pair in combinations_with_replacement(ACTIONS, 2)
    if pair not in EVERY_DAY and pair not in SLOW
]


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def app(request, tmp_path_factory) -> Any:
    place = tmp_path_factory.mktemp("races")
    rows = "".join(f"item {k},group {k % 6}\n" for k in range(24))
    (place / "items.csv").write_text(f"name,group\n{rows}", encoding="utf-8")
    made = create_study(place / "s", question="Which?", items=place / "items.csv")
    swaps = {'languages = ["en"]': 'languages = ["en", "ar"]', "grades = 0": "grades = 5"}
    study = edited(made, swaps, FIELD + PANEL)
    url = None if request.param == "sqlite" else request.getfixturevalue("postgresql")()
    app = make_app(study, study.store(url), secret="s" * 40, limits=NO_LIMIT)
    yield app
    app.state.site.store.close()


def race_of(app: Any, *names: str) -> Contestant:
    """A new judge does these things at once, each as often as the others; none is an error."""
    judge = contestant(app, about_role="nurse")
    requests = [ACTIONS[names[k % len(names)]](judge, k) for k in range(AT_ONCE)]
    statuses = race(app, [(asked, judge.cookies) for asked in requests])
    assert set(statuses) <= {200, 303}, statuses
    assert sum(statuses.values()) == AT_ONCE
    return judge


def check(app: Any, judge: Contestant, names: tuple[str, str]) -> None:
    """The database holds what one after the other would have left."""
    rows = rows_of(app.state.site.store, judge.judge)
    if "withdraw" in names:
        assert {name: number for name, number in rows.items() if number} == {"erased": 1}
        return
    gone = "withdraw about" in names
    assert rows["erased"] == rows["judges"] - (not gone) == int(gone)
    assert rows["said"] == (not gone)
    assert rows["known"] == (0 if gone else 2 if "groups" in names else len(judge.groups))
    # One answer to begin with, one more at most, and one taken back at most.
    answered = bool({"answer", "skip"} & set(names))
    assert 1 <= rows["judgements"] <= 1 + answered
    assert rows["undone"] <= ("undo" in names)
    if names == ("undo", "undo"):
        assert rows["undone"] == 1
    if answered and not gone and len(set(names) - {"groups", "undo"}) == len(set(names)):
        assert rows["judgements"] == 2


def with_marks(pairs: list[tuple[str, str]], *marks: Any) -> list[Any]:
    ids = (" and ".join(dict.fromkeys(pair)) for pair in pairs)
    return [pytest.param(pair, id=id_, marks=marks) for pair, id_ in zip(pairs, ids, strict=True)]


@pytest.mark.parametrize("names", with_marks(EVERY_DAY))
def test_what_went_wrong_before_goes_well(app, names):
    """Both gave errors on PostgreSQL, and of the second the judge was not erased."""
    check(app, race_of(app, *names), names)


@pytest.mark.slow
@pytest.mark.parametrize(
    "names",
    [
        *with_marks(SLOW),
        *with_marks(OTHERS, pytest.mark.thorough),
    ],
)
def test_whatever_a_judge_does_at_once_is_no_error(app, names):
    check(app, race_of(app, *names), names)


def test_fifty_clicks_make_one_judge(app):
    visitor = Visitor(app)
    visitor.get("/begin")
    store = app.state.site.store
    before = len(list(store.judge_rows()))
    cookies = {cookie.name: cookie.value for cookie in visitor.client.cookies.jar}
    fields = {"token": visitor.token, "consent": "1", "about_role": "nurse"}
    statuses = race(app, [(Asked("POST", "/begin", fields), cookies)] * AT_ONCE)
    assert statuses == {303: AT_ONCE}
    assert len(list(store.judge_rows())) == before + 1


@pytest.mark.parametrize("erase", everyday(["all", "about"], "all"))
def test_who_sends_the_withdrawal_again_is_told_the_same(app, erase):
    visitor = Visitor(app).join()
    visitor.get("/withdraw")
    fields = {"token": visitor.token, "erase": erase}
    cookies = {cookie.name: cookie.value for cookie in visitor.client.cookies.jar}
    visitor.post("/withdraw", fields)
    assert visitor.path == "/withdrawn"
    visitor.client.cookies.clear()
    visitor.client.cookies.update(cookies)
    visitor.post("/withdraw", fields)
    assert visitor.path == "/withdrawn"
