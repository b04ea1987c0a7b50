"""Invitations by name, and judges of panels: links, states, and what is left of a name."""

from __future__ import annotations

import asyncio
import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from aiosmtpd.controller import Controller

from support.judging import add_judge
from support.site import copy_study, edited, free_port, with_database
from tiewise.errors import InputError
from tiewise.study.access.judge_data import judge_data
from tiewise.study.create import create_study
from tiewise.study.export import export, judge_columns
from tiewise.study.inviting.delivery import Delivery, MailText, delivery_status
from tiewise.study.inviting.invitation_store import InvitationState, InvitationStore
from tiewise.study.inviting.mail import MailServer, read_mail_server
from tiewise.study.inviting.panel_store import PanelStore
from tiewise.study.inviting.people import Invitee, read_invitees, read_lines
from tiewise.study.judge_store import JudgeStore
from tiewise.study.study import Study, next_offer

PEOPLE = (Invitee("Anna Ashby", "anna@ashby.example"), Invitee("Ben", ""), Invitee("Class 4b / 7"))
PANEL = {"PROLIFIC_PID": "5f3c0ffee", "SESSION_ID": "s-1"}
TEXT = MailText("Your link", "Dear {name},\n{link}", "Again, {name}:\n{link}")


@pytest.fixture(scope="module")
def template(tmp_path_factory) -> Study:
    place = tmp_path_factory.mktemp("template")
    (place / "items.csv").write_text("name\nAsh\nBirch\nCedar\nElm\n", encoding="utf-8")
    return with_database(create_study(place / "s", question="Which?", items=place / "items.csv"))


@pytest.fixture
def study(template, tmp_path) -> Study:
    return copy_study(template, tmp_path / "s")


@pytest.fixture
def store(study) -> Iterator[JudgeStore]:
    store = study.store()
    yield store
    store.close()


def code_of(path: str) -> str:
    return path.rpartition("=")[2]


def join(store: JudgeStore, code: str) -> Any:
    return store.add_judge(consent="1", language="en", about={}, code=code)


def compare(study: Study, store: JudgeStore, judge: Any, times: int) -> None:
    import numpy as np

    for k in range(times):
        offer = next_offer(study, store, judge, np.random.default_rng(k))
        assert store.answer(judge, offer.id, 1)


# Who is named.


@pytest.mark.parametrize("head", ["name,mail", "Label,Email", "judge,e-mail,note"])
def test_a_table_names_people(tmp_path, head):
    rest = ",x" if "note" in head else ""
    rows = [f"Ánna,anna@a.example{rest}", f"007,{rest}", f"Ánna,anna@a.example{rest}"]
    (tmp_path / "p.csv").write_text("\n".join([head, *rows]), encoding="utf-8")
    assert read_invitees(tmp_path / "p.csv") == [("Ánna", "anna@a.example"), ("007", "")]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("first\nAnna\n", "no column label or name"), ("name\n", "nobody is named"),
        ("name,mail\nAnna,anna\n", "'anna' is no mail address"),
        ("name,mail\nAnna,a@b.example;c@d.example\n", "no mail address"),
        ("name\n" + "x" * 101 + "\n", "line 2: a name of 1 to 100"),
    ],
)  # fmt: skip
def test_a_table_that_names_nobody_is_refused(tmp_path, text, says):
    (tmp_path / "p.csv").write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=says):
        read_invitees(tmp_path / "p.csv")


def test_lines_name_people():
    lines = "Anna, anna@a.example\n\nBen Cobb, PhD\n  carl@c.example\n"
    assert read_lines(lines) == [
        ("Anna", "anna@a.example"), ("Ben Cobb, PhD", ""), ("carl@c.example", "carl@c.example"),
    ]  # fmt: skip


# Links.


def test_only_digests_of_links_are_kept(study, store):
    invitations = InvitationStore(store)
    assert (invitations.add(PEOPLE), invitations.add(PEOPLE)) == (3, 0)
    links = invitations.issue([one.id for one in invitations.all()])
    stored = b"".join(path.read_bytes() for path in study.folder.glob("study.db*"))
    assert b"Anna Ashby" in stored
    for link in links:
        assert code_of(link.path).encode() not in stored


def test_a_fresh_link_ends_the_unused_one(store):
    invitations = InvitationStore(store)
    invitations.add(PEOPLE)
    first, again = (invitations.issue([1])[0] for _ in range(2))
    assert (first.again, again.again) == (False, True)
    assert not store.has_free_invite(code_of(first.path))
    assert join(store, code_of(first.path)) is None
    assert join(store, code_of(again.path)) is not None
    assert join(store, code_of(again.path)) is None


def test_who_has_not_come_who_is_half_way_and_who_is_done(study, store):
    study = edited(study, {"target = 30": "target = 3"})
    invitations = InvitationStore(store)
    invitations.add(PEOPLE)
    links = invitations.issue([1, 2])
    anna, ben = (join(store, code_of(link.path)).judge for link in links)
    compare(study, store, anna, 3)
    compare(study, store, ben, 2)
    assert {one.label: (one.state(3), one.made) for one in invitations.all()} == {
        "Anna Ashby": (InvitationState.DONE, 3), "Ben": (InvitationState.BEGUN, 2),
        "Class 4b / 7": (InvitationState.AWAITED, 0),
    }  # fmt: skip
    assert invitations.labels() == {anna.id: "Anna Ashby", ben.id: "Ben"}


def test_a_reminder_half_way_leads_back_and_ends_the_unopened_one(store):
    invitations = InvitationStore(store)
    invitations.add(PEOPLE)
    new = join(store, code_of(invitations.issue([1])[0].path))
    first, second = (invitations.issue([1])[0].path.removeprefix("/j/") for _ in range(2))
    assert store.judge(first) is None
    assert store.judge(second) == store.judge(new.secret) == new.judge
    store.mark_opened(second)
    third = invitations.issue([1])[0].path.removeprefix("/j/")
    assert [store.judge(one) for one in (new.secret, second, third)] == [new.judge] * 3
    store.withdraw(new.judge, judgements_too=False)
    assert [store.judge(one) for one in (new.secret, second, third)] == [None] * 3


def test_those_who_have_not_come_can_be_removed_and_others_cannot(study, store):
    invitations = InvitationStore(store)
    invitations.add(PEOPLE)
    path = invitations.issue([1, 2])[0].path
    join(store, code_of(path))
    assert invitations.remove([1, 2, 3, 99]) == 2
    assert [one.label for one in invitations.all()] == ["Anna Ashby"]


# Panels.


def test_a_person_of_a_panel_is_one_judge(store):
    panel = PanelStore(store)
    first = store.add_judge(consent="1", language="en", about={}, panel=PANEL)
    assert panel.judge("PROLIFIC_PID", "5f3c0ffee") == first.judge
    assert panel.judge("SESSION_ID", "s-1") is None
    other_session = {**PANEL, "SESSION_ID": "s-2"}
    assert store.add_judge(consent="1", language="en", about={}, panel=other_session) is None
    browsers = [panel.come_back(first.judge) for _ in range(7)]
    assert [store.judge(secret) == first.judge for secret in browsers] == [False] * 2 + [True] * 5
    assert panel.all() == {first.judge.id: PANEL}


# What is left of a name.

TRACES = ("Anna Ashby", "anna@ashby.example", "5f3c0ffee", "s-1")


def of_everything(study: Study) -> bytes:
    """What the tables of the database hold, row by row."""
    with closing(sqlite3.connect(study.folder / "study.db")) as connection:
        tables = [row[0] for row in connection.execute(
            "SELECT name FROM sqlite_master WHERE type = 'table'")]  # fmt: skip
        rows = [connection.execute(f'SELECT * FROM "{name}"').fetchall() for name in tables]
    return repr(rows).encode()


@pytest.mark.parametrize("judgements_too", [True, False])
def test_names_addresses_and_identifiers_are_erased_on_withdrawal(study, store, judgements_too):
    invitations = InvitationStore(store)
    invitations.add(PEOPLE[:1])
    code = code_of(invitations.issue([1])[0].path)
    new = store.add_judge(consent="1", language="en", about={}, code=code, panel=PANEL)
    compare(study, store, new.judge, 2)
    data = json.dumps(judge_data(store, new.judge))
    there = of_everything(study).decode()
    assert all(trace in data and trace in there for trace in TRACES)
    store.withdraw(new.judge, judgements_too=judgements_too)
    left = of_everything(study).decode()
    assert not any(trace in left for trace in TRACES)
    assert new.judge.id in left


def test_the_export_has_names_and_identifiers_and_a_fit_never_sees_them(study, store, tmp_path):
    study = edited(study, {}, '\n[panel]\nidentifiers = ["PROLIFIC_PID", "SESSION_ID"]\n')
    InvitationStore(store).add([Invitee("=Anna")])
    code = code_of(InvitationStore(store).issue([1])[0].path)
    store.add_judge(consent="1", language="en", about={}, code=code, panel=PANEL)
    add_judge(store)
    export(study, store, tmp_path / "out")
    head, *rows = (tmp_path / "out" / "judges.csv").read_text(encoding="utf-8-sig").splitlines()
    assert head.endswith("excluded,invited_as,PROLIFIC_PID,SESSION_ID")
    assert [row.split(",")[-2:] for row in rows] == [["5f3c0ffee", "s-1"], ["", ""]]
    assert "=Anna" in rows[0]
    assert not rows[0].split(",")[-3].startswith("=")
    others = [path for path in (tmp_path / "out").iterdir() if path.name != "judges.csv"]
    assert not any("5f3c0ffee" in path.read_text(encoding="utf-8") for path in others)
    columns = judge_columns(study, store)
    assert not {"invited_as", "PROLIFIC_PID"} & set(columns)
    assert "5f3c0ffee" not in repr(columns)


# Mail.


class Mailbox:
    """A real server: what it took, and addresses that it refuses."""

    def __init__(self) -> None:
        self.messages: list[tuple[list[str], str]] = []

    async def handle_RCPT(self, server, session, envelope, address, options):  # noqa: N802
        if address.startswith("refused"):
            return "550 no such mailbox"
        envelope.rcpt_tos.append(address)
        return "250 OK"

    async def handle_DATA(self, server, session, envelope):  # noqa: N802
        import email
        from email.policy import default

        message = email.message_from_bytes(envelope.content, policy=default)
        self.messages.append((envelope.rcpt_tos, message))
        await asyncio.sleep(0)
        return "250 OK"


@pytest.fixture
def mailbox() -> Iterator[tuple[Mailbox, MailServer]]:
    box = Mailbox()
    controller = Controller(box, hostname="127.0.0.1", port=free_port())
    controller.start()
    port = controller.port
    server = read_mail_server(f"smtp://127.0.0.1:{port}", "study@example.org", None)
    assert server is not None
    yield box, server
    controller.stop()


def test_everybody_is_sent_a_link_of_their_own_in_their_name(store, mailbox):
    box, server = mailbox
    invitations = InvitationStore(store)
    invitations.add([Invitee("Ánna; B", "anna@a.example"), Invitee("Carl", "refused@c.example"),
                     Invitee("Dora", "dora@d.example")])  # fmt: skip
    delivery = Delivery(store, server, "https://study.example/x/")
    assert delivery.begin(3)
    assert not Delivery(store, server, "").begin(3)  # while the other is under way
    assert delivery.run([1, 2, 3], TEXT) == 1
    assert delivery_status(store) == (False, 3, 3, 1)
    assert [to for to, _ in box.messages] == [["anna@a.example"], ["dora@d.example"]]
    texts = [message.get_content().replace("\r", "") for _, message in box.messages]
    assert texts[0].startswith("Dear Ánna; B,\nhttps://study.example/x/?code=")
    codes = [text.strip().rpartition("=")[2] for text in texts]
    assert len(set(codes)) == 2
    assert all(store.has_free_invite(code) for code in codes)
    by_label = {one.label: one for one in invitations.all()}
    assert by_label["Carl"].fault == "the server refused the address (550)"
    assert by_label["Carl"].sent is None
    assert by_label["Dora"].sent is not None
    again = Delivery(store, server, "https://study.example/x/")
    assert again.begin(1)
    assert again.run([3], TEXT) == 0
    assert box.messages[-1][1].get_content().startswith("Again, Dora:")
    assert not store.has_free_invite(codes[1])


def test_a_server_that_is_not_there_is_told_of_and_holds_up_nobody(store):
    InvitationStore(store).add([Invitee("Anna", "anna@a.example")])
    server = read_mail_server("smtp://127.0.0.1:1", "study@example.org", None)
    assert server is not None
    delivery = Delivery(store, server, "https://study.example")
    assert delivery.begin(1)
    assert delivery.run([1], TEXT) == 1
    assert InvitationStore(store).all()[0].fault == "the server cannot be reached"
    assert Delivery(store, server, "").begin(1)


@pytest.mark.parametrize(
    ("server", "sender", "says"),
    [
        ("mail.example.org", "a@b.example", "no address of one"),
        ("http://mail.example.org", "a@b.example", "no address of one"),
        ("smtp://u:secret@mail.example.org", "a@b.example", "holds a password"),
        ("smtp://mail.example.org", None, "needs a sender"),
        ("smtp://mail.example.org", "nobody", "needs a sender"),
        (None, "a@b.example", "needs a server"),
    ],
)  # fmt: skip
def test_a_server_that_cannot_be_one_is_refused(server, sender, says):
    with pytest.raises(InputError, match=says):
        read_mail_server(server, sender, None)


def test_passwords_are_sent_over_encryption_or_to_this_machine_alone(tmp_path):
    (tmp_path / "password").write_text("secret\n")
    far = read_mail_server(
        "smtps://me%40x@mail.example.org", "a@b.example", str(tmp_path / "password")
    )
    assert far == ("smtps", "mail.example.org", 465, "me@x", "a@b.example",
                   str(Path(tmp_path / "password").resolve()))  # fmt: skip
    assert not far.local


def test_what_cannot_be_of_a_panel_is_refused(study):
    for more, says in (
        ('[panel]\nidentifiers = ["a b"]', "letters, digits"),
        ('[panel]\nidentifiers = ["code"]', "means something else"),
        ('[panel]\nidentifiers = ["a", "a"]', "there twice"),
        ("[panel]\nonly = true", "panel.identifiers: empty"),
        ('[panel]\nidentifiers = ["a"]\ncompletion_link = "javascript:x"', "https://"),
    ):
        path = study.folder / "study.toml"
        text = path.read_text(encoding="utf-8")
        path.write_text(f"{text}\n{more}\n", encoding="utf-8")
        with pytest.raises(InputError, match=says):
            Study.open(study.folder)
        path.write_text(text, encoding="utf-8")
