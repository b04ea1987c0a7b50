"""The commands of those who run a study: who may sign in, whether judges may judge, who counts."""

from __future__ import annotations

import sys

import click

from tiewise.cli.study import DATABASE, FOLDER, opened


@click.command("invite-researcher")
@FOLDER
@click.option("--name", required=True, help="who it is for: a new researcher, or a known one")
@click.option("--url", default="http://localhost:8000", show_default=True, help="of the site")
@DATABASE
def invite_researcher(folder: str, name: str, url: str, database: str | None) -> None:
    """Print a one-time link with which a researcher signs in. It is shown now and never again."""
    from tiewise.study.researcher_store import ResearcherStore

    with opened(folder, database) as (_, store):
        secret = ResearcherStore(store).invite_researcher(name)
    click.echo(f"{url.rstrip('/')}/sign-in/{secret}")


@click.command()
@FOLDER
@click.argument(
    "phase",
    required=False,
    metavar="[open|paused|closed]",
    type=click.Choice(["open", "paused", "closed"]),
)
@click.option("--reason", default="", help="why; kept in the trail")
@DATABASE
def phase(folder: str, phase: str | None, reason: str, database: str | None) -> None:
    """Say whether the study is open, paused or closed; or make it so."""
    from tiewise.study.researcher_store import ResearcherStore
    from tiewise.study.values import Phase

    with opened(folder, database) as (_, store):
        researchers = ResearcherStore(store)
        if phase is not None:
            researchers.set_phase(Phase(phase), why=reason)
        click.echo(researchers.phase())


@click.command("api-token")
@FOLDER
@click.option("--label", required=True, help="which program it is for")
@click.option("--days", type=click.IntRange(1, 3650), help="good for so many days; default: always")
@DATABASE
def api_token(folder: str, label: str, days: int | None, database: str | None) -> None:
    """Print a token with which a program reads the study. It is shown now and never again."""
    from datetime import timedelta

    from tiewise.study.researcher_store import ResearcherStore
    from tiewise.study.values import TokenPurpose

    lasts = timedelta(days=days) if days else None
    with opened(folder, database) as (_, store):
        click.echo(ResearcherStore(store).make_token(TokenPurpose.API, label=label, lasts=lasts))


@click.command()
@FOLDER
@click.argument("judge")
@click.option("--reason", required=True, help="why; kept with it")
@DATABASE
def exclude(folder: str, judge: str, reason: str, database: str | None) -> None:
    """Leave the judgements of JUDGE out of fits; they stay where they are."""
    from tiewise.study.researcher_store import ResearcherStore

    with opened(folder, database) as (_, store):
        ResearcherStore(store).exclude(judge, reason)
    click.echo(f"{judge} is left out of fits; tiewise include {folder} {judge} takes it back")


@click.command()
@FOLDER
@click.argument("judge")
@click.option("--reason", default="", help="why; kept with it")
@DATABASE
def include(folder: str, judge: str, reason: str, database: str | None) -> None:
    """Let the judgements of JUDGE count again."""
    from tiewise.study.researcher_store import ResearcherStore

    with opened(folder, database) as (_, store):
        ResearcherStore(store).include(judge, reason)
    click.echo(f"{judge} counts")


@click.command("judge-data")
@FOLDER
@click.argument("judge")
@DATABASE
def judge_data(folder: str, judge: str, database: str | None) -> None:
    """Print all that is stored of JUDGE, as JSON: the answer to a request for access.

    JUDGE is an id, or - to read an id or a personal link from standard input.
    """
    import json

    from tiewise.study.access.judge_data import find_judge
    from tiewise.study.access.judge_data import judge_data as read

    with opened(folder, database) as (_, store):
        data = read(store, find_judge(store, _named(judge)))
    click.echo(json.dumps(data, ensure_ascii=False, indent=2))


@click.command()
@FOLDER
@click.argument("judge")
@click.option(
    "--answers", type=click.Choice(["erase", "keep"]), required=True,
    help="what happens to the judge's answers; what they said of themselves is erased",
)  # fmt: skip
@DATABASE
def withdraw(folder: str, judge: str, answers: str, database: str | None) -> None:
    """Withdraw JUDGE, who asked for it elsewhere: the answer to a request for erasure.

    JUDGE is an id, or - to read an id or a personal link from standard input.
    """
    from tiewise.study.access.judge_data import find_judge, withdraw_for

    with opened(folder, database) as (_, store):
        person = find_judge(store, _named(judge))
        gone = withdraw_for(store, person, judgements_too=answers == "erase")
    click.echo(f"{person.id} has withdrawn; answers erased: {gone}")


def _named(judge: str) -> str:
    """A link is a secret, and the words of a command are none: it comes by standard input."""
    return sys.stdin.readline().strip() if judge == "-" else judge


COMMANDS = (invite_researcher, phase, api_token, exclude, include, judge_data, withdraw)
