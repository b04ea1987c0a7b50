"""Mail by SMTP: the server that a site may use, and messages to those who are invited."""

from __future__ import annotations

import os
import smtplib
import ssl
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from email.headerregistry import Address
from email.message import EmailMessage
from email.policy import SMTP
from email.utils import formatdate, make_msgid
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote, urlsplit

from tiewise.errors import InputError
from tiewise.study.inviting import PASSWORD_FILE, SENDER, SERVER
from tiewise.study.inviting.people import ADDRESS

SECONDS = 30.0
"""How long the server may take to answer."""
PORTS = {"smtp": 587, "smtps": 465}
LOOPBACK = ("localhost", "127.0.0.1", "::1")
LINK = "{link}"
NAME = "{name}"
FAULTS = (smtplib.SMTPException, OSError, UnicodeError)


class MailServer(NamedTuple):
    """An SMTP server, and in whose name it sends."""

    scheme: str
    host: str
    port: int
    user: str
    sender: str
    password_file: str

    @property
    def local(self) -> bool:
        """Whether it is on this machine, so that nobody listens in between."""
        return self.host in LOOPBACK

    @contextmanager
    def connected(self) -> Iterator[smtplib.SMTP]:
        """A connection; encrypted unless the server is on this machine."""
        secure = ssl.create_default_context()
        if self.scheme == "smtps":
            client: smtplib.SMTP = smtplib.SMTP_SSL(
                self.host, self.port, timeout=SECONDS, context=secure
            )
        else:
            client = smtplib.SMTP(self.host, self.port, timeout=SECONDS)
        with client:
            if self.scheme == "smtp" and not self.local:
                client.starttls(context=secure)
            if self.user:
                client.login(self.user, self._password())
            yield client

    def _password(self) -> str:
        if not self.password_file:
            return ""
        return Path(self.password_file).read_text(encoding="utf-8").strip()


def read_mail_server(
    server: str | None, sender: str | None, password_file: str | None
) -> MailServer | None:
    """The mail server of these options; None where none is named."""
    if not server:
        if sender or password_file:
            raise InputError("a sender of mail needs a server; name it (mail_server=)")
        return None
    try:
        parts = urlsplit(server)
        port = parts.port
    except ValueError:
        parts, port = urlsplit(""), None
    if parts.scheme not in PORTS or not parts.hostname or parts.path not in ("", "/"):
        raise InputError(
            "mail_server= is no address of one; write smtp://user@mail.example.org:587, or smtps://"
        )
    if parts.password is not None:
        raise InputError(
            "mail_server= holds a password, which others could see; put it into a file "
            "(mail_password_file=)"
        )
    if not sender or not ADDRESS.fullmatch(sender):
        raise InputError("mail needs a sender; give its address (mail_from=study@example.org)")
    if password_file and not Path(password_file).is_file():
        raise InputError(f"{password_file}: there is no such file; it holds the password of mail")
    user = unquote(parts.username or "")
    place = str(Path(password_file).resolve()) if password_file else ""
    return MailServer(
        parts.scheme, parts.hostname, port or PORTS[parts.scheme], user, sender, place
    )


def export_mail_server(server: str | None, sender: str | None, password_file: str | None) -> None:
    """Hand these options to the processes of the site, which share the environment."""
    read_mail_server(server, sender, password_file)
    named = {SERVER: server, SENDER: sender, PASSWORD_FILE: password_file}
    os.environ.update({name: value for name, value in named.items() if value})


def mail_server() -> MailServer | None:
    """The mail server of this process, if it has one."""
    return read_mail_server(*(os.environ.get(name) for name in (SERVER, SENDER, PASSWORD_FILE)))


def text_problem(text: str) -> str:
    """What a text for mail lacks; nothing where it can be sent."""
    return "" if LINK in text else f"The text has no {LINK}: say where the link belongs."


def compose(
    server: MailServer, *, to: str, name: str, subject: str, text: str, link: str
) -> EmailMessage:
    """A message to one person, with their name and link in the places of the text."""
    message = EmailMessage(policy=SMTP)
    local, _, domain = to.rpartition("@")
    message["From"] = server.sender
    message["To"] = Address("", local, domain)
    message["Subject"] = subject
    message["Date"] = formatdate()
    message["Message-ID"] = make_msgid(domain=server.sender.rpartition("@")[2])
    message["Auto-Submitted"] = "auto-generated"
    message.set_content(text.replace(NAME, name).replace(LINK, link))
    return message


def describe_fault(error: Exception) -> str:
    """Why mail could not be sent, without the address of anybody."""
    if isinstance(error, smtplib.SMTPRecipientsRefused):
        codes = {code for code, _ in error.recipients.values()}
        return f"the server refused the address ({', '.join(map(str, sorted(codes)))})"
    if isinstance(error, smtplib.SMTPAuthenticationError):
        return "the server refused the user or the password"
    if isinstance(error, smtplib.SMTPNotSupportedError):
        return "the server offers no encryption, or no way to sign in"
    if isinstance(error, smtplib.SMTPResponseException):
        return f"the server answered {error.smtp_code}"
    if isinstance(error, smtplib.SMTPServerDisconnected | TimeoutError):
        return "the server did not answer"
    if isinstance(error, ssl.SSLError):
        return "the connection to the server could not be encrypted"
    return "the server cannot be reached"


class MailClient:
    """A connection that is opened when it is needed, and anew where the server closed it."""

    def __init__(self, server: MailServer) -> None:
        self._server, self._open = server, ExitStack()
        self._client: smtplib.SMTP | None = None

    def send(self, message: EmailMessage) -> None:
        """Send a message; once more where the server had closed the connection meanwhile."""
        fresh = self._client is None
        try:
            self._connection().send_message(message)
        except smtplib.SMTPServerDisconnected:
            self.close()
            if fresh:
                raise
            self._connection().send_message(message)

    def _connection(self) -> smtplib.SMTP:
        if self._client is None:
            self._client = self._open.enter_context(self._server.connected())
        return self._client

    def close(self) -> None:
        """Close the connection, if there is one."""
        self._client = None
        with suppress(*FAULTS):
            self._open.close()
