"""`tiewise invite`: codes without names, and people by name with links of their own."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tiewise.cli.database_option import DATABASE
from tiewise.cli.inviting.mail_options import mail_options, take_mail_options
from tiewise.cli.options import progress_bar
from tiewise.cli.study import FOLDER, opened
from tiewise.errors import InputError

if TYPE_CHECKING:
    from tiewise.study.inviting.invitation_store import Invitation
    from tiewise.study.judge_store import JudgeStore
    from tiewise.study.study import Study


@click.command()
@FOLDER
@click.option("--count", type=click.IntRange(1, 10_000), default=1, help="so many codes")
@click.option("--url", help="address of the site: print links, not codes")
@click.option("--from", "people", help="table of those to invite: name or label, and perhaps mail")
@click.option("--remind", is_flag=True, help="also those half-way; without --from, everybody")
@click.option("--table", help="write names and links to this file (CSV), for a mail merge")
@click.option("--sheet", help="write a page with QR codes to this file (HTML), to print")
@click.option("--mail", is_flag=True, help="send the links by mail")
@mail_options
@DATABASE
def invite(
    folder: str, count: int, url: str | None, people: str | None, remind: bool,
    database: str | None, **options: Any,
) -> None:  # fmt: skip
    """Make invite codes, one a line, or links for people by name.

    With --from, everybody in the file who has not come gets a link of their own, and the site says
    who has come. Codes and links are shown now and never again; a fresh link ends an unused one.
    """
    server = take_mail_options(options)
    if not people and not remind:
        with opened(folder, database) as (_, store):
            for code in store.invite(count):
                click.echo(f"{url.rstrip('/')}/?code={code}" if url else code)
        return
    if not url:
        raise InputError("links need the address of the site; name it (--url https://…)")
    with opened(folder, database) as (study, store):
        chosen = _invited(study, store, people, remind=remind)
        if options["mail"]:
            _send(study, store, chosen, url, server)
        else:
            _write(study, store, chosen, url, options["table"], options["sheet"])


def _invited(
    study: Study, store: JudgeStore, people: str | None, *, remind: bool
) -> list[Invitation]:
    """Those in the file, once invited, who have not come; or all who are to be reminded."""
    from tiewise.study.inviting.invitation_store import InvitationState, InvitationStore
    from tiewise.study.inviting.people import read_invitees

    invitations, target = InvitationStore(store), study.settings.study.target
    named = set(read_invitees(people)) if people else set()
    if named:
        click.echo(f"{invitations.add(named)} of {len(named)} were not invited before", err=True)
    states = (
        (InvitationState.AWAITED, InvitationState.BEGUN) if remind else (InvitationState.AWAITED,)
    )
    return [
        one for one in invitations.all()
        if one.state(target) in states and (not named or (one.label, one.mail) in named)
    ]  # fmt: skip


def _write(
    study: Study, store: JudgeStore, chosen: Sequence[Invitation], url: str,
    table: str | None, sheet: str | None,
) -> None:  # fmt: skip
    """Fresh links in files, or else on the screen."""
    from tiewise.study.inviting.invitation_store import InvitationStore
    from tiewise.web.researcher.people.sheet import merge_table, sheet_file

    for file in (table, sheet):  # before any link ends
        if file and not Path(file).absolute().parent.is_dir():
            raise InputError(f"{file}: there is no such folder; make it first")
    links = InvitationStore(store).issue([one.id for one in chosen])
    if table:
        Path(table).write_text(merge_table(links, url), encoding="utf-8", newline="")
    if sheet:
        page = sheet_file(links, url, study.settings.study.title)
        Path(sheet).write_text(page, encoding="utf-8")
    if not table and not sheet:
        for link in links:
            click.echo(f"{link.label}\t{url.rstrip('/')}{link.path}")
        return
    written = " and ".join(file for file in (table, sheet) if file)
    click.echo(f"{len(links)} links written to {written}")


def _send(
    study: Study, store: JudgeStore, chosen: Sequence[Invitation], url: str,
    server: tuple[str | None, str | None, str | None],
) -> None:  # fmt: skip
    """Mail to those who have an address, in the words of the study's language."""
    from tiewise.study.inviting.delivery import Delivery
    from tiewise.study.inviting.mail import read_mail_server
    from tiewise.web.words.of_study import mail_text

    there = read_mail_server(*server)
    if there is None:
        raise InputError("there is no mail server; name it (--mail-server smtp://…)")
    numbers = [one.id for one in chosen if one.mail]
    delivery = Delivery(store, there, url)
    if not delivery.begin(len(numbers)):
        raise InputError("mail is being sent for this study already; wait until that is done")
    with progress_bar() as progress:
        failed = delivery.run(numbers, mail_text(study), progress=progress)
    without = len(chosen) - len(numbers)
    click.echo(f"{len(numbers) - failed} sent, {failed} not; {without} have no address")
    if failed:
        raise InputError("some mail was not sent; the page Invite says why of each")


COMMANDS = (invite,)
