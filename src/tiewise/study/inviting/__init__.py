"""Inviting judges: who is asked, their links, mail, and identifiers that a panel gives."""

SERVER, SENDER, PASSWORD_FILE = (
    "TIEWISE_MAIL_SERVER", "TIEWISE_MAIL_FROM", "TIEWISE_MAIL_PASSWORD_FILE",
)  # fmt: skip
"""The environment variables that hand a mail server to the processes of a site."""
