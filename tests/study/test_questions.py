"""Several questions of one pair: kept, taken back, written out and read back, on both databases."""

from __future__ import annotations

import csv
import json
import shutil
import sqlite3
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from threading import Barrier

import pytest

from support.judging import add_judge
from support.site import edited
from tiewise.data.answers import FIRST, SECOND, SKIP, TIE
from tiewise.data.comparisons import read_comparisons
from tiewise.errors import InputError
from tiewise.pairing.policies import OrderedPair
from tiewise.study.access.judge_data import judge_data
from tiewise.study.asking.comment_store import LONGEST_COMMENT, CommentStore
from tiewise.study.create import create_study
from tiewise.study.export import COLUMNS, comparisons, export, import_file
from tiewise.study.judge_store import JudgeStore
from tiewise.study.schema import migrate
from tiewise.study.settings import problems, read_toml
from tiewise.study.study import Study
from tiewise.study.values import Kind, Reply

FIXTURES = Path(__file__).parents[1] / "fixtures" / "version-0.1"
AB, CD = OrderedPair("a", "b"), OrderedPair("c", "d")
BOTH = ("age", "beauty")
QUESTIONS = """
[[questions]]
id = "age"
question = "Which is older?"
higher = "older"

[[questions]]
id = "beauty"
question = "Which is more beautiful?"
weight = 2.0
[questions.answers]
ties = true
grades = 5
"""
HANDS = 12
WHY_EACH = '\n[reasons]\nask = "optional"\nper_question = true\n'


def write_study(place: Path, more: str = QUESTIONS) -> Study:
    (place / "list.csv").write_text("item,name\na,Ash\nb,Birch\nc,Cedar\nd,Date\n", "utf-8")
    made = create_study(place / "s", items=place / "list.csv", question="Compare these two trees.")
    toml = made.folder / "study.toml"
    toml.write_text(toml.read_text("utf-8") + more, "utf-8")
    return Study.open(made.folder)


@pytest.fixture
def study(tmp_path) -> Study:
    return write_study(tmp_path)


@pytest.fixture(params=["sqlite", "postgresql"])
def store(request, tmp_path) -> Iterator[JudgeStore]:
    url = f"sqlite:///{tmp_path / 'study.db'}"
    opened = JudgeStore(
        url if request.param == "sqlite" else request.getfixturevalue("postgresql")()
    )
    yield opened
    opened.close()


def answered(store: JudgeStore, judge, pair=AB, age=FIRST, beauty=TIE, kind=Kind.NEW) -> int:
    offer = store.offer(judge, pair, kind)
    replies = {"age": Reply(age), "beauty": Reply(beauty, 2 if beauty in (FIRST, SECOND) else None)}
    assert store.answer_questions(judge, offer.id, replies, BOTH)
    return offer.id


# In the database.


def test_half_given_answers_are_kept_and_count_once_the_pair_is_complete(store):
    judge = add_judge(store)
    offer = store.offer(judge, AB, Kind.NEW)
    assert store.answer_questions(judge, offer.id, {"age": Reply(FIRST)}, BOTH)
    assert store.drafts(offer) == {"age": Reply(FIRST)}
    assert store.open_offer(judge) == offer
    assert list(store.rows()) == []
    assert store.progress(judge).made == 0
    # Until then a judge may change their mind.
    store.answer_questions(judge, offer.id, {"age": Reply(SECOND)}, BOTH)
    store.answer_questions(judge, offer.id, {"beauty": Reply(FIRST, 2)}, BOTH)
    rows = [(row["question"], row["outcome"], row["grade"]) for row in store.rows()]
    assert rows == [("age", "right", None), ("beauty", "left", 2)]
    assert store.drafts(offer) == {}
    assert store.open_offer(judge) is None
    assert not store.answer_questions(judge, offer.id, {"age": Reply(TIE)}, BOTH)
    assert len(list(store.rows())) == 2


def test_a_pair_counts_once_however_many_questions_it_has(store):
    judge = add_judge(store)
    answered(store, judge, AB, FIRST, SKIP)
    answered(store, judge, CD, SKIP, SKIP)
    answered(store, judge, OrderedPair("a", "c"), TIE, SKIP)
    answered(store, judge, OrderedPair("b", "c"), kind=Kind.PRACTICE)
    assert store.progress(judge) == store.history(judge).progress == (2, 1, 1)
    history = store.history(judge)
    assert [past.answer for past in history.answers] == [FIRST, SKIP, TIE, FIRST]
    assert history.hard_pairs == {frozenset("cd"), frozenset("ac")}


def test_undo_takes_back_every_question_of_the_last_pair_once(store):
    judge = add_judge(store)
    answered(store, judge, AB)
    answered(store, judge, CD)
    again = store.undo(judge, of=2)
    assert (again.left, again.right) == ("c", "d")
    assert store.undo(judge, of=2) is None
    standing = [(row["left"], row["question"]) for row in store.rows() if row["undone"] is None]
    assert standing == [("a", "age"), ("a", "beauty")]
    assert store.progress(judge).made == 1


def test_what_is_half_given_is_taken_back_alone_and_forgotten_with_its_pair(store):
    judge = add_judge(store)
    answered(store, judge, CD)
    offer = store.offer(judge, AB, Kind.NEW)
    store.answer_questions(judge, offer.id, {"age": Reply(FIRST)}, BOTH)
    store.drop_drafts(judge, offer.id, of=2)  # somebody clicked twice
    assert store.drafts(offer) == {"age": Reply(FIRST)}
    store.drop_drafts(judge, offer.id, of=1)
    assert store.drafts(offer) == {}
    assert store.progress(judge).made == 1
    store.answer_questions(judge, offer.id, {"age": Reply(FIRST)}, BOTH)
    store.undo(judge)  # of the pair before, which sets this one aside
    assert store.drafts(offer) == {}


def test_many_answers_at_once_leave_one_to_each_question(store):
    judge = add_judge(store)
    offer = store.offer(judge, AB, Kind.NEW)
    begin = Barrier(HANDS)

    def answer(number: int) -> None:
        begin.wait()
        question = BOTH[number % 2]
        store.answer_questions(judge, offer.id, {question: Reply(FIRST)}, BOTH)

    with ThreadPoolExecutor(HANDS) as pool:
        list(pool.map(answer, range(HANDS)))
    assert sorted(row["question"] for row in store.rows()) == sorted(BOTH)
    assert store.drafts(offer) == {}


def test_withdrawing_erases_drafts_and_comments_in_either_way(store):
    for too in (False, True):
        judge = add_judge(store)
        offer = answered(store, judge, AB)
        assert CommentStore(store).add(judge, offer, ["the bark"], "I live there.")
        half = store.offer(judge, CD, Kind.NEW)
        store.answer_questions(judge, half.id, {"age": Reply(FIRST)}, BOTH)
        data = judge_data(store, judge)
        assert [one["comment"] for one in data["reasons and comments"]] == ["I live there."]
        assert [one["question"] for one in data["half-given answers"]] == ["age"]
        assert store.withdraw(judge, judgements_too=too) == (2 if too else 0)
        assert store.drafts(half) == {}
        assert list(CommentStore(store).all()) == []


# Reasons.


def test_a_reason_is_kept_once_by_the_judge_whose_pair_it_is(store):
    judge, other = add_judge(store), add_judge(store)
    comments, offer = CommentStore(store), answered(store, judge)
    assert not comments.add(other, offer, [], "not mine")
    assert comments.add(judge, offer, ["one", "two"], " taller\0 \r\n\r\nI think " + "x" * 3000)
    assert not comments.add(judge, offer, [], "again")
    (kept,) = comments.all()
    assert kept.reasons == ("one", "two")
    assert kept.comment.startswith("taller\n\nI think x")
    assert len(kept.comment) == LONGEST_COMMENT
    assert comments.counts() == {"a": 1, "b": 1}
    assert list(comments.all(item="c")) == []
    store.undo(judge)
    assert list(comments.all()) == []
    store.set_aside(judge)
    practice = answered(store, judge, CD, kind=Kind.PRACTICE)
    assert not comments.add(judge, practice, [], "practice")


def test_who_said_nothing_was_asked_all_the_same(store):
    judge = add_judge(store)
    offer = answered(store, judge)
    assert not CommentStore(store).has(offer)
    assert CommentStore(store).add(judge, offer, [], "  ")
    assert CommentStore(store).has(offer)
    assert list(CommentStore(store).all()) == []


# Written out and read back.


def test_the_export_says_which_question_and_is_fitted_one_by_one(study, tmp_path):
    store = study.store()
    judge = add_judge(store)
    answered(store, judge, AB, FIRST, SECOND)
    answered(store, judge, CD, TIE, SKIP)
    export(study, store, tmp_path / "out")
    with (tmp_path / "out" / "comparisons.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0]) == [*COLUMNS, "grade", "question"]
    assert [(row["question"], row["state"], row["grade"]) for row in rows] == [
        ("age", "selected", ""), ("beauty", "selected", "2"), ("age", "tied", ""),
        ("beauty", "skipped", ""),
    ]  # fmt: skip
    about = json.loads((tmp_path / "out" / "comparisons.about.json").read_text("utf-8"))
    assert about["questions"] == {
        "age": {"ties_offered": True}, "beauty": {"ties_offered": True, "grades": 5},
    }  # fmt: skip
    table = tmp_path / "out" / "comparisons.csv"
    with pytest.raises(InputError, match=r"several questions; name one of age, beauty"):
        read_comparisons(table)
    with pytest.raises(InputError, match=r"no answer is to question_id='height'"):
        read_comparisons(table, question_id="height")
    age = read_comparisons(table, question_id="age")
    assert (age.levels, list(age.rows()["outcome"])) == (1, ["first", "tie"])
    assert read_comparisons(table, question_id="beauty").levels == 2
    assert comparisons(store, question="age").counts() == age.counts()
    store.close()


def test_answers_to_several_questions_go_out_and_come_in(tmp_path):
    """What was answered to each question, and which answers were of one showing of a pair."""
    study = write_study(tmp_path)
    store = study.store()
    judge = add_judge(store)
    for pair, age, beauty in [(AB, Reply(FIRST), Reply(SECOND, 2)), (CD, Reply(TIE), Reply(SKIP)),
                              (AB, Reply(SECOND), Reply(FIRST, 1))]:  # fmt: skip
        offer = store.offer(judge, pair, Kind.NEW)
        store.answer_questions(judge, offer.id, {"age": age, "beauty": beauty}, BOTH)
    export(study, store, tmp_path / "out")
    table = tmp_path / "out" / "comparisons.csv"
    (tmp_path / "other").mkdir()
    other = write_study(tmp_path / "other")
    brought = other.store()
    assert import_file(other, brought, table) == 6
    names = ("judge", "left", "right", "question", "outcome", "grade")
    assert sorted(str([row[name] for name in names]) for row in brought.rows()) == sorted(
        str([row[name] for name in names]) for row in store.rows()
    )
    assert len(list(brought.offers())) == 3
    assert len({(row["offer"], row["question"]) for row in brought.rows()}) == 6
    with pytest.raises(InputError, match="all in this study already"):
        import_file(other, brought, table)
    text = table.read_text("utf-8")
    table.write_text(text.replace(",age\n", ",height\n"), "utf-8")
    with pytest.raises(InputError, match=r"no question 'height'; there are age, beauty"):
        import_file(other, brought, table)
    table.write_text(text.replace(",question", ",other"), "utf-8")
    with pytest.raises(InputError, match=r"no column question, and this study asks several"):
        import_file(other, brought, table)
    store.close()
    brought.close()


def test_reasons_of_each_question_are_kept_apart(tmp_path):
    """On the way to the table, to the item, and to the judge who asks for their data."""
    study = write_study(tmp_path, QUESTIONS + WHY_EACH)
    store = study.store()
    judge = add_judge(store)
    offer = store.offer(judge, AB, Kind.NEW)
    store.answer_questions(judge, offer.id, {"age": Reply(TIE), "beauty": Reply(FIRST, 1)}, BOTH)
    comments = CommentStore(store)
    assert comments.add_each(judge, offer.id, {"age": ([], "old"), "beauty": (["bark"], "")})
    assert not comments.add(judge, offer.id, [], "late")
    assert [one.question for one in comments.all()] == ["age", "beauty"]
    assert [one.comment for one in comments.all()] == ["old", ""]
    assert [one.reasons for one in comments.all(question="beauty")] == [("bark",)]
    export(study, store, tmp_path / "out")
    with (tmp_path / "out" / "comments.csv").open(encoding="utf-8", newline="") as file:
        assert [row["question"] for row in csv.DictReader(file)] == ["age", "beauty"]
    kept = judge_data(store, judge)["reasons and comments"]
    assert [row["question"] for row in kept] == ["age", "beauty"]
    store.close()


BY_NAME = ("label", "mail", "issued", "sent", "fault")
BEFORE_0007 = (
    "CREATE TABLE old AS SELECT offer, reasons, comment, written FROM comments",
    "DROP TABLE comments",
    "CREATE TABLE comments (offer INTEGER NOT NULL REFERENCES offers (id), reasons TEXT NOT NULL, "
    "comment TEXT NOT NULL, written TIMESTAMP NOT NULL, CONSTRAINT comments_pkey PRIMARY KEY "
    "(offer))",
    "INSERT INTO comments SELECT offer, reasons, comment, written FROM old",
    "DROP TABLE old",
    "DROP INDEX one_judge_a_person",
    "ALTER TABLE judges DROP COLUMN person",
    *(f"ALTER TABLE invites DROP COLUMN {name}" for name in BY_NAME),
    "DROP TABLE lists",
    "DROP TABLE paper",
    "DROP TABLE return_links",
    "DROP TABLE identifiers",
    "UPDATE alembic_version SET version_num = '0006'",
)


def test_comments_of_before_stay_those_of_the_pair(store):
    judge = add_judge(store)
    offer = answered(store, judge)
    CommentStore(store).add(judge, offer, ["bark"], "tall")
    before = list(CommentStore(store).all())
    with store.writing() as connection:
        for line in BEFORE_0007:
            connection.exec_driver_sql(line)
    with store.writing() as connection:
        migrate(connection)
    assert list(CommentStore(store).all()) == before
    assert [one.question for one in before] == [""]


def test_reasons_of_each_question_need_several(tmp_path):
    study = write_study(tmp_path, "")
    toml = study.folder / "study.toml"
    toml.write_text(toml.read_text("utf-8") + "\n[reasons]\nper_question = true\n", "utf-8")
    assert [str(one) for one in problems(read_toml(toml))] == [
        "reasons.per_question: there is one question; leave it out, or add some"
    ]


def test_a_study_of_one_question_keeps_its_columns(tmp_path):
    study = write_study(tmp_path, "")
    store = study.store()
    judge = add_judge(store)
    store.answer(judge, store.offer(judge, AB, Kind.NEW).id, FIRST)
    names = {path.name for path in export(study, store, tmp_path / "out")}
    assert "comments.csv" not in names
    head = (tmp_path / "out" / "comparisons.csv").read_text("utf-8").splitlines()[0]
    assert head == ",".join(COLUMNS)
    (row,) = judge_data(store, judge)["judgements"]
    assert "question" not in row
    store.close()


def test_comments_are_a_table_of_their_own(tmp_path):
    study = write_study(tmp_path, '\n[reasons]\nask = "optional"\nchoices = ["bark", "crown"]\n')
    store = study.store()
    judge = add_judge(store)
    offer = store.offer(judge, AB, Kind.NEW)
    store.answer(judge, offer.id, FIRST)
    CommentStore(store).add(judge, offer.id, ["bark", "crown"], "=taller")
    export(study, store, tmp_path / "out")
    with (tmp_path / "out" / "comments.csv").open(encoding="utf-8", newline="") as file:
        (row,) = csv.DictReader(file)
    assert (row["item_1_id"], row["reasons"]) == ("a", "bark; crown")
    assert row["comment"] == "'=taller"  # no spreadsheet runs it
    store.close()


# What answers mean.


def test_questions_must_not_change_under_their_answers(study):
    store = study.store()
    assert study.changed_meaning(store) == []
    answered(store, add_judge(store))
    changes = {
        'question = "Which is older?"': 'question = "Which is younger?"',
        'id = "beauty"': 'id = "charm"',
        "grades = 5": "grades = 7",
        'higher = "older"': 'higher = "elder"',
    }
    for was, now in changes.items():
        text = (study.folder / "study.toml").read_text("utf-8")
        faults = edited(study, {was: now}).changed_meaning(store)
        assert faults, was
        assert all(fault.startswith("questions") for fault in faults)
        (study.folder / "study.toml").write_text(text, "utf-8")
    # Neither the words above them nor the weights are what was answered.
    same = edited(
        study, {"Compare these two trees.": "Compare them.", "weight = 2.0": "weight = 1.0"}
    )
    assert same.changed_meaning(store) == []
    store.close()


def test_a_study_of_one_question_cannot_become_one_of_several(tmp_path):
    study = write_study(tmp_path, "")
    store = study.store()
    study.changed_meaning(store)
    judge = add_judge(store)
    store.answer(judge, store.offer(judge, AB, Kind.NEW).id, FIRST)
    toml = study.folder / "study.toml"
    toml.write_text(toml.read_text("utf-8") + QUESTIONS, "utf-8")
    faults = Study.open(study.folder).changed_meaning(store)
    assert [fault.partition(":")[0] for fault in faults] == ["questions"]
    assert "'one'" in faults[0]
    store.close()


def test_a_study_is_read_for_one_of_its_questions(study):
    beauty = study.asking("beauty")
    assert beauty.settings.study.question == "Which is more beautiful?"
    assert beauty.scale.levels == 2
    assert study.asking("age").scale.levels == 1
    assert beauty.settings.questions == ()
    with pytest.raises(InputError, match="name one of age, beauty"):
        study.asking(None)
    with pytest.raises(InputError, match=r"question_id='x'"):
        study.asking("x")


def test_words_of_other_languages_are_those_of_the_question(tmp_path):
    words = 'study_question = "all"\nquestion_age = "A"\nquestion_beauty_skip = "L"\n'
    study = write_study(tmp_path, f"{QUESTIONS}\n[translations.ar]\n{words}")
    settings = study.settings
    assert settings.asking("age").word("study.question", "ar") == "A"
    assert settings.asking("beauty").word("study.question", "ar") == "Which is more beautiful?"
    assert settings.asking("beauty").word("answers.skip", "ar") == "L"
    assert settings.word("study.question", "ar") == "all"


@pytest.mark.parametrize(
    ("more", "key"),
    [
        ('[[questions]]\nid = "one"\nquestion = "?"\n', "questions"),
        (QUESTIONS.replace('"age"', '"Age!"'), "questions[1].id"),
        (QUESTIONS.replace('"age"', '"beauty"'), "questions[2].id"),
        (QUESTIONS.replace("grades = 5", "grades = 4"), "questions[2].answers.grades"),
        (
            QUESTIONS.replace("grades = 5", "grades = 5\nboth_seen = true"),
            "questions[2].answers.both_seen",
        ),
        (QUESTIONS.replace("weight = 2.0", "weight = -1.0"), "questions[2].weight"),
        (QUESTIONS.replace("weight = 2.0", 'answers = "all"'), None),
        (QUESTIONS.replace('"Which is older?"', '" "'), "questions[1].question"),
        ('[translations.ar]\nquestion_age = "x"\n', "translations.ar.question_age"),
        ('[reasons]\nask = "often"\n', "reasons.ask"),
        ('[reasons]\nask = "optional"\ntext = false\n', "reasons.text"),
        ('[reasons]\nask = "optional"\nevery = 0\n', "reasons.every"),
        ('[reasons]\nask = "optional"\nchoices = ["a", "a"]\n', "reasons.choices[2]"),
        ('[[practice]]\nleft = "a"\nright = "a"\n', "practice[1].right"),
        ('[[practice]]\nleft = "a"\nright = "b"\nanswer = "much"\n', "practice[1].answer"),
        ('[[practice]]\nleft = "a"\nright = "b"\nanswers = 3\n', "practice[1].answers"),
        (
            QUESTIONS + '[[practice]]\nleft = "a"\nright = "b"\n[practice.answers]\nhue = "left"\n',
            "practice[1].answers.hue",
        ),
    ],
)
def test_every_fault_is_named_by_its_key(tmp_path, more, key):
    study = write_study(tmp_path, "")
    toml = study.folder / "study.toml"
    text = toml.read_text("utf-8") + "\n" + more
    toml.write_text(text, "utf-8")
    try:
        found_keys = [problem.key for problem in problems(read_toml(toml))]
    except InputError:
        assert key is None  # a key twice is no TOML
        return
    assert key in found_keys
    with pytest.raises(InputError):
        Study.open(study.folder)


def test_practice_pairs_come_first_and_must_be_items(tmp_path):
    more = '\n[[practice]]\nleft = "a"\nright = "{}"\nanswer = "left"\nwhy = "It is."\n'
    study = write_study(tmp_path, more.format("b"))
    assert study.settings.practice_pairs == 1
    (study.folder / "study.toml").write_text(
        (study.folder / "study.toml").read_text("utf-8").replace('right = "b"', 'right = "zz"'),
        "utf-8",
    )
    with pytest.raises(InputError, match=r"practice: 'zz' is not in items\.csv"):
        Study.open(study.folder)


# What earlier versions wrote.


def test_answers_of_version_01_are_all_there_and_those_taken_back_still_are(tmp_path):
    """On SQLite the table is made anew: nothing may be lost, and no reference broken."""
    place = shutil.copytree(FIXTURES / "study", tmp_path / "study")
    with closing(sqlite3.connect(place / "study.db")) as before:
        rows = before.execute("SELECT id, offer, outcome, answered FROM judgements").fetchall()
        undone = before.execute("SELECT judgement, at FROM undone").fetchall()
    assert rows
    assert undone
    Study.open(place).store(backup=False).close()
    with closing(sqlite3.connect(place / "study.db")) as after:
        again = "SELECT id, offer, outcome, answered FROM judgements WHERE question = ''"
        assert after.execute(again).fetchall() == rows
        assert after.execute("SELECT judgement, at FROM undone").fetchall() == undone
        assert after.execute("PRAGMA foreign_key_check").fetchall() == []
        references = after.execute("PRAGMA foreign_key_list(undone)").fetchall()
        assert [row[2] for row in references] == ["judgements"]
        names = {row[0] for row in after.execute("SELECT name FROM sqlite_master")}
    assert not {name for name in names if name.startswith("new_")}
