"""The command that takes answers back in from paper."""

from __future__ import annotations

import getpass
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from tiewise.cli.database_option import DATABASE
from tiewise.cli.study import FOLDER, opened
from tiewise.errors import InputError

if TYPE_CHECKING:
    from tiewise.data.answers import Answer
    from tiewise.study.designs.paper import PaperSheet
    from tiewise.study.judge_store import JudgeStore
    from tiewise.study.study import Study

UNDO, STOP = ("u", "\x7f", "\b"), ("q", "\x04", "\x1b")


@click.command()
@FOLDER
@click.option("--code", help="of one sheet; default: asked for, one after the other")
@click.option("--by", help="who enters them; default: the name you are signed in with here")
@DATABASE
def enter(folder: str, code: str | None, by: str | None, database: str | None) -> None:
    """Enter the answers on printed sheets of the study in DIR.

    After the code of a sheet, one key an answer: the number of the box that is ticked, 0 where none
    is, u to take back the last, q to stop. In a pipe: a line with the code,
    then a line of keys.
    """
    with opened(folder, database) as (study, store):
        who = by or getpass.getuser()
        while True:
            asked = code or _ask_code()
            if not asked:
                return
            _enter_sheet(study, store, asked, who)
            if code:
                return


def _ask_code() -> str:
    if sys.stdin.isatty():
        typed: str = click.prompt("Code of a sheet (empty: stop)", default="", show_default=False)
        return typed.strip()
    return next((line.strip() for line in sys.stdin if line.strip()), "")


def _enter_sheet(study: Study, store: JudgeStore, code: str, by: str) -> None:
    """The answers of one sheet, key by key, until it is complete or somebody stops."""
    from tiewise.study.designs.paper import answer_keys, enter_answer, read_sheet, undo_entry

    if study.design is None:
        raise InputError(f"{study.folder} has no design.csv, and so no sheets; see `tiewise new`")
    if study.settings.questions:
        raise InputError("sheets ask one question, and this study asks several; judge on the site")
    keys = answer_keys(study.scale)
    sheet = read_sheet(store, study.design, code, study.items)
    click.echo(f"Sheet {sheet.code}, {sheet.name}: {_keys_in_words(keys)}; u: undo, q: stop")
    typed = _keys()
    while sheet.next_pair is not None:
        click.echo(_pair(study, sheet), nl=False)
        key = next(typed, STOP[0])
        click.echo(f" {key if key.isprintable() else ''}")
        if key in STOP:
            break
        if key in UNDO:
            undo_entry(store, sheet, len(sheet.answers))
        elif key in keys:
            enter_answer(store, sheet, len(sheet.answers), keys[key], by)
        else:
            click.echo(f"  {key!r} is no box: {_keys_in_words(keys)}", err=True)
            if not sys.stdin.isatty():
                break
        sheet = read_sheet(store, study.design, code, study.items)
    done = f"{len(sheet.answers)} of {len(sheet.pairs)}"
    click.echo(f"Sheet {sheet.code}: {done} entered, as boxes: {_entered(sheet, keys)}")


def _keys() -> Iterator[str]:
    """Keys as they are pressed, or the characters of the next line of a pipe."""
    if sys.stdin.isatty():
        while True:
            yield click.getchar()
    yield from "".join(sys.stdin.readline().split())


def _pair(study: Study, sheet: PaperSheet) -> str:
    pair = sheet.next_pair
    assert pair is not None
    left, right = (study.items[item].name for item in (pair.left, pair.right))
    practice = " (practice)" if pair.kind == "practice" else ""
    return f"{len(sheet.answers) + 1:>3}{practice} {left} | {right}:"


def _keys_in_words(keys: dict[str, Answer]) -> str:
    return ", ".join(f"{key}: {answer.name}" for key, answer in keys.items())


def _entered(sheet: PaperSheet, keys: dict[str, Answer]) -> str:
    """The boxes of all answers in one row, to be compared with the paper."""
    by = {(answer.code, answer.strength or None): key for key, answer in keys.items()}
    return "".join(by[one.reply.answer, one.reply.grade or None] for one in sheet.answers)


COMMANDS = (enter,)
