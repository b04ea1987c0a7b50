"""The log: plain lines or JSON, without addresses, secrets, or values of SQL statements."""

from __future__ import annotations

import ipaddress
import json
import logging
import logging.config
import re
import sys
import traceback
from datetime import UTC, datetime
from typing import Any

LOG_FORMATS = ("plain", "json")
VARIABLE = "TIEWISE_LOG_FORMAT"
HIDDEN = "[hidden]"
LONGEST = 2000
"""Characters of a message."""
NOISE = ("Invalid HTTP request received.", "Unsupported upgrade request.")
"""What uvicorn writes whenever somebody sends rubbish; the metrics count it."""

ADDRESS = re.compile(r"(?<![\w.:])(?:\d{1,3}(?:\.\d{1,3}){3}|[0-9A-Fa-f]*:[0-9A-Fa-f:.]+)(?![\w])")
QUERY = re.compile(r"(?<=[\w/])\?[^\s'\"]+")
LINK = re.compile(r"/(j|sign-in|shared)/[^\s/'\"?]+")
LOGIN = re.compile(r"//[^\s/@]+@")
TOKEN = re.compile(
    r"\b(?:(?=[0-9a-f]*\d)[0-9a-f]{10,}|(?=[\w-]*\d)[\w-]{24,}|[\w-]+\.[\w-]{6}\.[\w-]{20,})\b"
)
"""Hexadecimal, long and with a digit, or signed as cookies are."""


def scrub(text: str) -> str:
    """The text without addresses of people, queries, personal links, logins and tokens."""
    text = LOGIN.sub(f"//{HIDDEN}@", text)
    text = LINK.sub(rf"/\1/{HIDDEN}", QUERY.sub(f"?{HIDDEN}", text))
    return TOKEN.sub(HIDDEN, ADDRESS.sub(_hide_address, text))


def _hide_address(match: re.Match[str]) -> str:
    try:
        address = ipaddress.ip_address(match[0])
    except ValueError:
        return match[0]
    return match[0] if address.is_loopback or address.is_unspecified else HIDDEN


def describe_error(error: BaseException) -> str:
    """The kind of an error and the first line of what it says; of SQL, only the driver's words."""
    driver = getattr(error, "orig", None)  # SQLAlchemy's own text repeats the statement's values
    source = driver if isinstance(driver, BaseException) else error
    line = next(iter(str(source).splitlines()), "")
    return f"{type(error).__name__}: {scrub(line[:LONGEST])}" if line else type(error).__name__


def _message(record: logging.LogRecord) -> str:
    """The message of a record, with errors among its arguments described."""
    args = record.args
    if isinstance(args, tuple):
        args = tuple(describe_error(one) if isinstance(one, BaseException) else one for one in args)
    message = str(record.msg) % args if args else str(record.msg)
    return scrub(message.strip()[:LONGEST])


def _errors(record: logging.LogRecord) -> list[BaseException]:
    """The error of a record and those it came from, the first cause last."""
    error = record.exc_info[1] if record.exc_info else None
    chain: list[BaseException] = []
    while error is not None and error not in chain:
        chain.append(error)
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    return chain


def _is_signal(record: logging.LogRecord) -> bool:
    return not (record.name == "uvicorn.error" and record.msg in NOISE)


class PlainFormatter(logging.Formatter):
    """A line for people; the places in the code follow an error."""

    def format(self, record: logging.LogRecord) -> str:
        """The record as text."""
        lines = [f"{record.levelname}: {_message(record)}"]
        for error in reversed(_errors(record)):
            lines += [line.rstrip() for line in traceback.format_tb(error.__traceback__)]
            lines.append(describe_error(error))
        return "\n".join(lines)


class JsonFormatter(logging.Formatter):
    """A JSON object on one line."""

    def format(self, record: logging.LogRecord) -> str:
        """The record as JSON; `fields` of a record are keys of their own."""
        moment = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        entry: dict[str, Any] = {
            "time": moment, "level": record.levelname.lower(), "logger": record.name,
            "process": record.process, "message": _message(record),
        }  # fmt: skip
        entry |= getattr(record, "fields", {})
        if errors := _errors(record):
            frames = traceback.extract_tb(errors[0].__traceback__)
            entry["errors"] = [describe_error(error) for error in errors]
            entry["trace"] = [f"{frame.filename}:{frame.lineno} {frame.name}" for frame in frames]
        return json.dumps(entry, ensure_ascii=False)


def logging_config(log_format: str) -> dict[str, Any]:
    """The configuration of all loggers, for `logging.config.dictConfig` and for uvicorn."""
    formatter = JsonFormatter if log_format == "json" else PlainFormatter
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {"log": {"()": formatter}},
        "handlers": {
            "log": {"class": "logging.StreamHandler", "formatter": "log", "filters": ["noise"]}
        },
        "filters": {"noise": {"()": NoiseFilter}},
        "root": {"level": "WARNING", "handlers": ["log"]},
        "loggers": {"tiewise": {"level": "INFO" if log_format == "json" else "WARNING"}},
    }


class NoiseFilter(logging.Filter):
    """Leaves out what anybody on the network could have written by the thousand."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether the record is written."""
        return _is_signal(record)


def set_up_logging(log_format: str) -> None:
    """Write the log of this process in a format, warnings and uncaught errors included."""
    logging.config.dictConfig(logging_config(log_format))
    if log_format == "json":
        logging.captureWarnings(True)
        sys.excepthook = _log_uncaught


def _log_uncaught(kind: type[BaseException], error: BaseException, trace: Any) -> None:
    if not issubclass(kind, KeyboardInterrupt):
        logging.getLogger("tiewise").critical("Ended by an error", exc_info=(kind, error, trace))
