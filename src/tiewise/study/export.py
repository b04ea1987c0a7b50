"""Tables of a study's judgements for other programs, and judgements from elsewhere."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from tiewise.data.about_table import about_path, write_about
from tiewise.data.answers import ANSWERS, CODE_OF_STORED, CODE_OF_WORD
from tiewise.data.comparisons import Comparisons, read_comparisons
from tiewise.data.files import write_rows
from tiewise.errors import InputError, InputWarning
from tiewise.folders import begins_with, refuse_study
from tiewise.study.judge_store import JudgeStore
from tiewise.study.researcher_store import ResearcherStore
from tiewise.study.study import Study, write_items
from tiewise.study.values import Kind

COLUMNS = (
    "comparison_id", "user_id", "item_1_id", "item_2_id", "selected_item_id", "state",
    "kind", "shown_at", "answered_at", "undone_at",
)  # fmt: skip
Table = tuple[Sequence[str], Iterable[Sequence[Any]]]
"""Columns and rows."""

IMPORTED = "imported"
COMPARISONS = "comparisons.csv"
ITEMS = "items.csv"
ABOUT = about_path(COMPARISONS).name


def comparison_rows(store: JudgeStore, *, excluded: bool = False) -> Iterator[list[str]]:
    """Judgements in the columns of the comparison interface; the first item stood on the left.

    Those that count: without practice, what was taken back, and judges whom a researcher left out;
    or else those judges' alone.
    """
    left_out = ResearcherStore(store).excluded()
    for row in store.rows():
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
        ]  # fmt: skip


def _moment(at: datetime | None) -> str:
    return "" if at is None else at.isoformat(timespec="milliseconds")


def export(study: Study, store: JudgeStore, out: str | Path, *, raw: bool = False) -> list[Path]:
    """Write comparisons.csv, excluded.csv, judges.csv, offers.csv, erased.csv and items.csv.

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
        ties = study.settings.answers.ties
        write_about(path.with_name(COMPARISONS), ties_offered=ties, raw=raw)
    else:
        write_rows(path, *_tables(study, store)[name], raw=raw)
    return path


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
    fields = [one.name for one in study.settings.judges.fields]
    return {
        COMPARISONS: (COLUMNS, comparison_rows(store)),
        "excluded.csv": (COLUMNS, comparison_rows(store, excluded=True)),
        "judges.csv": (
            ("user_id", "language", "consent", "consented_at", "withdrawn_at", "judgements",
             "groups", "excluded", *fields), _judges(store, fields),
        ),
        "offers.csv": (
            ("offer_id", "user_id", "left_id", "right_id", "kind", "shown_at", "closed_at"),
            ([row["id"], row["judge"], row["left"], row["right"], row["kind"],
              _moment(row["shown"]), _moment(row["closed"])] for row in store.offers()),
        ),
        "erased.csv": (
            ("user_id", "erased_at", "judgements"),
            ([row["judge"], _moment(row["at"]), row["judgements"]] for row in store.erasures()),
        ),
    }  # fmt: skip


def judge_columns(study: Study, store: JudgeStore) -> dict[str, list[str]]:
    """What is known of judges, column by column, as judges.csv has it."""
    head, rows = _tables(study, store)["judges.csv"]
    texts = [list(map(str, row)) for row in rows]
    return {name: [row[k] for row in texts] for k, name in enumerate(head)}


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


def comparisons(store: JudgeStore) -> Comparisons:
    """The judgements that count, as a fit reads them."""
    import pandas as pd

    rows = pd.DataFrame(list(comparison_rows(store)), columns=list(COLUMNS))
    if rows.empty:
        raise InputError("there are no judgements yet; send judges their link first")
    return read_comparisons(rows, any_id=True)


def import_file(
    study: Study, store: JudgeStore, file: str | Path, *, drop_invalid: bool = False
) -> int:
    """Import judgements from a file that `tiewise fit` reads; how many."""
    brought = read_comparisons(file, drop_invalid=drop_invalid)
    if brought.left_out:
        warnings.warn(f"{file}: {brought.left_out_note}", InputWarning, stacklevel=2)
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
    rows = [
        {"judge": judge, "left": first, "right": second, "outcome": _stored(word)}
        for judge, first, second, word in zip(*(table[name] for name in names), strict=True)
    ]
    _refuse_again(file, rows, store)
    return store.import_judgements(rows, consent=IMPORTED)


def _stored(word: str) -> str:
    return ANSWERS[CODE_OF_WORD[word]].stored


def _refuse_again(file: str | Path, rows: Sequence[Mapping[str, Any]], store: JudgeStore) -> None:
    """Refuse a file whose every judgement is in the study: the same would be counted twice."""
    names = ("judge", "left", "right", "outcome")
    there = Counter(tuple(row[name] for name in names) for row in store.rows())
    if rows and not Counter(tuple(row[name] for name in names) for row in rows) - there:
        raise InputError(
            f"{file}: its judgements are all in this study already; nothing to bring in"
        )
