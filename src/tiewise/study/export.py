"""Tables of a study's judgements for other programs, and judgements from elsewhere."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

from tiewise.data.about_table import about_path, write_about
from tiewise.data.answers import ANSWERS, CODE_OF_STORED, CODE_OF_WORD, TIE
from tiewise.data.comparisons import GRADE, Comparisons, read_comparisons
from tiewise.data.files import write_rows
from tiewise.data.frames import QUESTION, open_source, question_ids
from tiewise.data.spreadsheet_cells import defuse_free_text
from tiewise.designs.pair_lists import COLUMNS as LIST_COLUMNS
from tiewise.errors import InputError, InputWarning
from tiewise.folders import begins_with, refuse_study
from tiewise.study.asking.comment_store import CommentStore
from tiewise.study.inviting.invitation_store import InvitationStore
from tiewise.study.inviting.panel_store import PanelStore
from tiewise.study.judge_store import JudgeStore
from tiewise.study.researcher_store import ResearcherStore
from tiewise.study.study import DESIGN, Study, write_items
from tiewise.study.values import Kind

COLUMNS = (
    "comparison_id", "user_id", "item_1_id", "item_2_id", "selected_item_id", "state",
    "kind", "shown_at", "answered_at", "undone_at",
)  # fmt: skip
GRADED_COLUMNS = (*COLUMNS, GRADE)
"""Those of studies with graded answers: how strongly the item was selected, from 1."""
Table = tuple[Sequence[str], Iterable[Sequence[Any]]]
"""Columns and rows."""

MEDIUM, PAPER, SITE = "medium", "paper", "site"
"""Only of studies with a design: on what an answer was given."""
IMPORTED = "imported"
COMPARISONS = "comparisons.csv"
ITEMS = "items.csv"
JUDGES = "judges.csv"
ANCHORS = "anchors.csv"
"""Only of studies that have some."""
COMMENTS = "comments.csv"
"""Only of studies that ask for reasons; `offer_id` is that of offers.csv."""
COMMENT_COLUMNS = (
    "offer_id", "user_id", "item_1_id", "item_2_id", "reasons", "comment", "written_at",
)  # fmt: skip
"""Where reasons are asked of each question, its id is a further column."""
JUDGE_COLUMNS = (
    "user_id", "language", "consent", "consented_at", "withdrawn_at", "judgements", "groups",
    "excluded",
)  # fmt: skip
"""Those of every study; what judges said of themselves follows."""
LABEL = "invited_as"
"""The name in which a judge was invited; only where some were, and never in results."""
ABOUT = about_path(COMPARISONS).name


def columns(study: Study) -> Sequence[str]:
    """The columns of a study's judgements; only where it asks several, that of the question."""
    graded = GRADED_COLUMNS if is_graded(study) else COLUMNS
    several = (*graded, QUESTION) if study.settings.questions else graded
    return (*several, MEDIUM) if study.design is not None else several


def is_graded(study: Study) -> bool:
    """Whether answers to any of its questions are graded."""
    return any(scale.levels > 1 for scale in study.settings.scales().values())


def judgement_rows(study: Study, store: JudgeStore, *, excluded: bool = False) -> Any:
    """All judgements of a study in its `columns`."""
    several = bool(study.settings.questions)
    return comparison_rows(
        store, excluded=excluded, graded=is_graded(study), several=several,
        medium=study.design is not None,
    )  # fmt: skip


def comparison_rows(
    store: JudgeStore,
    *,
    excluded: bool = False,
    graded: bool = False,
    several: bool = False,
    question: str | None = None,
    medium: bool = False,
) -> Iterator[list[str]]:
    """Judgements in the columns of the comparison interface; the first item stood on the left.

    Those that count: without practice, what was taken back, and judges whom a researcher left out;
    or else those judges' alone. Where answers are `graded` their grades are a further column, and
    where there are `several` questions their ids are; with `medium` also whether an answer came on
    paper or on the site. With a `question`, its answers alone.
    """
    left_out = ResearcherStore(store).excluded()
    for row in store.rows():
        if question is not None and row["question"] != question:
            continue
        if row["undone"] is not None or row["kind"] == Kind.PRACTICE:
            continue
        if (row["judge"] in left_out) != excluded:
            continue
        answer = ANSWERS[CODE_OF_STORED[row["outcome"]]]
        chosen = row[answer.chosen] if answer.chosen else ""
        yield [
            str(row["judgement"]), row["judge"], row["left"], row["right"], chosen,
            answer.state, row["kind"], _moment(row["shown"]),
            _moment(row["answered"]), _moment(row["undone"]),
            *([str(row["grade"] or "")] if graded else []),
            *([row["question"]] if several else []),
            *([PAPER if row["entered_by"] is not None else SITE] if medium else []),
        ]  # fmt: skip


def _moment(at: datetime | None) -> str:
    return "" if at is None else at.isoformat(timespec="milliseconds")


def export(study: Study, store: JudgeStore, out: str | Path, *, raw: bool = False) -> list[Path]:
    """Write comparisons.csv, excluded.csv, judges.csv, offers.csv, erased.csv and items.csv.

    Of a study with anchors also anchors.csv, as `tiewise fit --anchors` reads it; of one that asks
    for reasons also comments.csv; of one with a design also design.csv.
    comparisons.about.json says whether ties were offered; `tiewise fit` reads it beside the table.
    Texts that a spreadsheet would run are defused, unless `raw`. Only an earlier export is
    overwritten.
    """
    names = (*_tables(study, store), ITEMS, ABOUT)
    _refuse_foreign(Path(out), names)
    return [export_one(study, store, name, out, raw=raw) for name in names]


def export_one(
    study: Study, store: JudgeStore, name: str, out: str | Path, *, raw: bool = False
) -> Path:
    """Write one of the files of `export`."""
    path = Path(out) / name
    path.parent.mkdir(parents=True, exist_ok=True)
    if name == ITEMS:
        write_items(study.items.values(), path, raw=raw)
    elif name == ABOUT:
        _write_about(study, path.with_name(COMPARISONS), raw=raw)
    else:
        head, rows = _tables(study, store)[name]
        free = () if raw else _free_text(study, name)
        write_rows(path, head, _without_formulas(head, rows, free) if free else rows, raw=raw)
    return path


def _free_text(study: Study, name: str) -> Sequence[str]:
    """Columns of a table that hold what somebody wrote, for people to read."""
    texts = [one.name for one in study.settings.judges.fields if one.kind == "text"]
    traces = [LABEL, *study.settings.panel.identifiers]
    return {COMMENTS: ["comment"], JUDGES: ["excluded", *texts, *traces]}.get(name, ())


def _without_formulas(
    head: Sequence[str], rows: Iterable[Sequence[Any]], free: Sequence[str]
) -> Iterator[list[Any]]:
    for row in rows:
        yield [
            defuse_free_text(value) if name in free else value
            for name, value in zip(head, row, strict=True)
        ]


def _write_about(study: Study, table: Path, *, raw: bool) -> None:
    """Say beside a table which answers were offered, to each question where there are several."""
    answers = {
        id_: (TIE in scale.codes, len(scale.grades) if scale.levels > 1 else 0)
        for id_, scale in study.settings.scales().items()
    }
    ties, grades = any(ties for ties, _ in answers.values()), max(n for _, n in answers.values())
    several = answers if study.settings.questions else None
    write_about(table, ties_offered=ties, grades=grades, raw=raw, questions=several)


def _refuse_foreign(out: Path, names: Sequence[str]) -> None:
    """Refuse a folder where something other than an export would be overwritten."""
    refuse_study(out)
    if out.exists() and not out.is_dir():
        raise InputError(f"{out} is a file; name a folder (out=)")
    there = [name for name in names if (out / name).exists()]
    if there and not begins_with(out / COMPARISONS, [",".join(COLUMNS[:7]).encode()]):
        raise InputError(
            f"{out} holds {there[0]} and is no export, so that it is not overwritten; name another "
            "folder (out=)"
        )


def _tables(
    study: Study, store: JudgeStore
) -> dict[str, tuple[Sequence[str], Iterable[Sequence[Any]]]]:
    """Columns and rows by name; rows are asked for when they are read."""
    head = columns(study)
    anchors = [(one.item, one.value, one.sd) for one in study.settings.anchors]
    return {
        COMPARISONS: (head, judgement_rows(study, store)),
        "excluded.csv": (head, judgement_rows(study, store, excluded=True)),
        JUDGES: _judge_table(study, store, traces=True),
        "offers.csv": (
            ("offer_id", "user_id", "left_id", "right_id", "kind", "shown_at", "closed_at"),
            ([row["id"], row["judge"], row["left"], row["right"], row["kind"],
              _moment(row["shown"]), _moment(row["closed"])] for row in store.offers()),
        ),
        "erased.csv": (
            ("user_id", "erased_at", "judgements"),
            ([row["judge"], _moment(row["at"]), row["judgements"]] for row in store.erasures()),
        ),
        **({ANCHORS: (("item", "value", "sd"), anchors)} if anchors else {}),
        **({COMMENTS: _comments(study, store)} if study.settings.reasons.asked else {}),
        **({DESIGN: (LIST_COLUMNS, study.design.rows())} if study.design is not None else {}),
    }  # fmt: skip


def _comments(study: Study, store: JudgeStore) -> Table:
    """Why judges answered as they did, of pairs that count."""
    each = study.settings.reasons.per_question
    rows = (
        [one.offer, one.judge, one.left, one.right, "; ".join(one.reasons), one.comment,
         _moment(one.written), *([one.question] if each else [])]
        for one in CommentStore(store).all(excluded=False)
    )  # fmt: skip
    return (*COMMENT_COLUMNS, *([QUESTION] if each else [])), rows


def judge_columns(study: Study, store: JudgeStore) -> dict[str, list[str]]:
    """What is known of judges, column by column, as judges.csv has it; not who they are."""
    head, rows = _judge_table(study, store, traces=False)
    texts = [list(map(str, row)) for row in rows]
    return {name: [row[k] for row in texts] for k, name in enumerate(head)}


def _judge_table(study: Study, store: JudgeStore, *, traces: bool) -> Table:
    """What is known of judges; with `traces` also names and identifiers that lead to a person."""
    fields = [one.name for one in study.settings.judges.fields]
    labels = InvitationStore(store).labels() if traces else {}
    panel = study.settings.panel.identifiers if traces else ()
    known = PanelStore(store).all() if panel else {}
    head = (*JUDGE_COLUMNS, *fields, *([LABEL] if labels else []), *panel)
    rows = (
        [*row, *([labels.get(row[0], "")] if labels else []),
         *(known.get(row[0], {}).get(name, "") for name in panel)]
        for row in _judges(store, fields)
    )  # fmt: skip
    return head, rows


def _judges(store: JudgeStore, fields: Sequence[str]) -> Iterator[list[Any]]:
    answers, groups = store.signup_answers(), store.groups_by_judge()
    excluded = ResearcherStore(store).excluded()
    for row in store.judge_rows():
        mine = answers.get(row["id"], {})
        yield [
            row["id"], row["language"], row["consent"], _moment(row["consented"]),
            _moment(row["withdrawn"]), row["judgements"], "; ".join(groups.get(row["id"], ())),
            excluded.get(row["id"], ""), *(mine.get(name, "") for name in fields),
        ]  # fmt: skip


def comparisons(store: JudgeStore, *, levels: int = 1, question: str = "") -> Comparisons:
    """The judgements that count, as a fit reads them; `levels` are the ways to choose an item.

    Where a study asks several questions, those of one, by its id.
    """
    import pandas as pd

    graded = levels > 1
    rows = pd.DataFrame(
        list(comparison_rows(store, graded=graded, question=question)),
        columns=list(GRADED_COLUMNS if graded else COLUMNS),
    )
    if rows.empty:
        raise InputError("there are no judgements yet; send judges their link first")
    table = read_comparisons(rows, any_id=True, grade=GRADE if graded else None)
    # Strong choices that nobody made say something, too.
    return replace(table, levels=levels)


def import_file(
    study: Study, store: JudgeStore, file: str | Path, *, drop_invalid: bool = False
) -> int:
    """Import judgements from a file that `tiewise fit` reads; how many.

    Where a study asks several questions, a column `question` has the id of each row's.
    """
    rows = [
        row
        for question in _questions_in(study, file)
        for row in _brought_rows(study, file, question, drop_invalid=drop_invalid)
    ]
    _refuse_again(file, rows, store)
    return store.import_judgements(rows, consent=IMPORTED)


def _questions_in(study: Study, file: str | Path) -> list[str | None]:
    """The questions that a file answers, in the order of the study; None is its only one."""
    ids = study.settings.question_ids
    if not study.settings.questions:
        return [None]
    there = question_ids(open_source(file))
    if there is None:
        raise InputError(
            f"{file} has no column {QUESTION}, and this study asks several questions of each pair; "
            f"add which of {', '.join(ids)} each row answers"
        )
    unknown = [id_ for id_ in there if id_ not in ids]
    if unknown:
        raise InputError(
            f"{file}: this study has no question {unknown[0]!r}; there are {', '.join(ids)}"
        )
    return [id_ for id_ in ids if id_ in there]


def _brought_rows(
    study: Study, file: str | Path, question: str | None, *, drop_invalid: bool
) -> list[dict[str, Any]]:
    """The judgements in a file, or those of one question, as they are stored."""
    brought = _graded_alike(study.asking(question), file, question, drop_invalid=drop_invalid)
    if brought.left_out:
        warnings.warn(f"{file}: {brought.left_out_note}", InputWarning, stacklevel=3)
    table = brought.rows()
    unknown = {*table["first"], *table["second"]} - set(study.items)
    if unknown:
        some = ", ".join(map(repr, sorted(unknown)[:3]))
        raise InputError(
            f"{file}: {some} {'is' if len(unknown) == 1 else 'are'} not among the items of this "
            "study; use the ids in its items.csv"
        )
    if table["judge"].isna().any():
        raise InputError(f"{file} does not say who judged; name the column user_id or judge")
    names = ("judge", "first", "second", "outcome")
    grades = table["grade"] if brought.levels > 1 else [0] * len(table)
    rows: list[dict[str, Any]] = [
        {"judge": judge, "left": first, "right": second, "outcome": _stored(word),
         "grade": int(grade) or None, "question": question or ""}
        for judge, first, second, word, grade in zip(
            *(table[name] for name in names), grades, strict=True
        )
    ]  # fmt: skip
    return rows if question is None else _numbered(rows)


def _numbered(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Answers to a question with `time`: how often the judge had answered it of that pair before.

    By it the answers to several questions find each other: they are of one showing of a pair.
    """
    times: Counter[tuple[str, str, str]] = Counter()
    out = []
    for row in rows:
        pair = row["judge"], row["left"], row["right"]
        out.append({**row, "time": times[pair]})
        times[pair] += 1
    return out


def _graded_alike(
    study: Study, file: str | Path, question: str | None, *, drop_invalid: bool
) -> Comparisons:
    """The judgements in a file; refused where they have other grades than those of the study."""
    levels = study.scale.levels
    if levels > 1 and GRADE not in open_source(file).frame.collect_schema().names():
        raise InputError(
            f"{file} has no column grade, and answers in this study are graded; add how strongly "
            f"each item was selected, from 1 to {levels}"
        )
    grade = GRADE if levels > 1 else None
    brought = read_comparisons(file, drop_invalid=drop_invalid, grade=grade, question_id=question)
    if brought.levels > levels:
        raise InputError(
            f"{file}: its answers have {brought.levels} grades for either item, and those of this "
            f"study {levels}; bring it into a study with answers.grades as they were"
        )
    return brought


def _stored(word: str) -> str:
    return ANSWERS[CODE_OF_WORD[word]].stored


def _refuse_again(file: str | Path, rows: Sequence[Mapping[str, Any]], store: JudgeStore) -> None:
    """Refuse a file whose every judgement is in the study: the same would be counted twice."""
    names = ("judge", "left", "right", "outcome", "grade", "question")
    there = Counter(tuple(row[name] for name in names) for row in store.rows())
    if rows and not Counter(tuple(row[name] for name in names) for row in rows) - there:
        raise InputError(
            f"{file}: its judgements are all in this study already; nothing to bring in"
        )
