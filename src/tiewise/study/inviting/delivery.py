"""Sending invitations by mail: one after the other, each with a link that is made for it."""

from __future__ import annotations

import json
import secrets
from collections.abc import Sequence
from typing import NamedTuple

from tiewise.progress import Progress, no_progress
from tiewise.study.inviting.invitation_store import FreshLink, InvitationStore
from tiewise.study.inviting.mail import FAULTS, MailClient, MailServer, compose, describe_fault
from tiewise.study.judge_store import JudgeStore
from tiewise.study.snapshot_store import SnapshotStore
from tiewise.study.values import Researcher

TASK = "mail"
LEASE_SECONDS = 120.0


class MailText(NamedTuple):
    """What a mail says: to those who have had no link yet, and to those who have had one."""

    subject: str
    first: str
    again: str

    def for_link(self, link: FreshLink) -> str:
        """The text for this link."""
        return self.again if link.again else self.first


class DeliveryStatus(NamedTuple):
    """How far sending is."""

    running: bool
    done: int
    of: int
    failed: int


def delivery_status(store: JudgeStore) -> DeliveryStatus:
    """How far the sending that is under way is, or how the last one ended."""
    snapshots = SnapshotStore(store)
    kept = snapshots.current(TASK)
    done, of, failed = json.loads(kept[1]) if kept else (0, 0, 0)
    return DeliveryStatus(snapshots.lease_holder(TASK) is not None, done, of, failed)


class Delivery:
    """One sending: nobody else sends for this study meanwhile."""

    def __init__(self, store: JudgeStore, server: MailServer, base_url: str) -> None:
        self._invitations, self._snapshots = InvitationStore(store), SnapshotStore(store)
        self._server, self._base_url = server, base_url.rstrip("/")
        self._holder = secrets.token_hex(8)

    def begin(self, of: int) -> bool:
        """Whether it may begin: not while another one is under way."""
        if not self._snapshots.take_lease(TASK, self._holder, LEASE_SECONDS):
            return False
        self._record(0, of, 0)
        return True

    def run(
        self, numbers: Sequence[int], text: MailText, *, by: Researcher | None = None,
        progress: Progress = no_progress,
    ) -> int:  # fmt: skip
        """Send each of these invitations; how many could not be sent.

        A link is made just before it is sent: cut off, those that were not reached keep theirs.
        """
        done = failed = 0
        client = MailClient(self._server)
        try:
            for number in numbers:
                if not self._snapshots.take_lease(TASK, self._holder, LEASE_SECONDS):
                    break
                for link in self._invitations.issue([number], by=by):
                    fault = self._send(client, link, text)
                    self._invitations.record_mail(number, fault=fault)
                    failed += bool(fault)
                done += 1
                self._record(done, len(numbers), failed)
                progress("mail", done, len(numbers))
        finally:
            client.close()
            self._snapshots.release_lease(TASK, self._holder)
        return failed

    def _send(self, client: MailClient, link: FreshLink, text: MailText) -> str:
        """What went wrong; nothing where it was sent."""
        try:
            message = compose(
                self._server, to=link.mail, name=link.label, subject=text.subject,
                text=text.for_link(link), link=self._base_url + link.path,
            )  # fmt: skip
            client.send(message)
        except FAULTS as error:
            return describe_fault(error)
        return ""

    def _record(self, *numbers: int) -> None:
        self._snapshots.set_current(TASK, json.dumps(numbers).encode())
