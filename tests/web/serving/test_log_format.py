"""The log: one line for each event, and nothing of people in it."""

from __future__ import annotations

import json
import logging
import sys

import pytest
from sqlalchemy.exc import IntegrityError

from tiewise.web.serving.log_format import JsonFormatter, NoiseFilter, PlainFormatter, scrub

SECRET = "9c303af61e129595b299c41bab196996"


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        ("from 203.0.113.7:51234", "from [hidden]:51234"),
        ("from 2001:db8::1 came", "from [hidden] came"),
        ("from ::ffff:203.0.113.7", "from [hidden]"),
        (f"GET /j/{SECRET} 404", "GET /j/[hidden] 404"),
        ("GET /sign-in/abc", "GET /sign-in/[hidden]"),
        ("GET /wards/shared/abc", "GET /wards/shared/[hidden]"),
        ("GET /begin?code=8f1c22d0aa", "GET /begin?[hidden]"),
        ("code 8f1c22d0aa is used", "code [hidden] is used"),
        ("postgresql://me:hush@host/wards", "postgresql://[hidden]@host/wards"),
        ("cookie eyJzIjoiYSIsImwiOiIifQ.aRkT2g.kV-sNMn_bbqZKhmsgfpXhcAb", "cookie [hidden]"),
    ],
)
def test_people_and_secrets_are_hidden(text, clean):
    assert scrub(text) == clean


@pytest.mark.parametrize(
    "text",
    [
        "Judges open http://127.0.0.1:8000/",
        "listening on [::1]:8000",
        "at 12:34:56 on 2026-11-16",
        "Which ward has more? This one.",
        "The live picture was not renewed: The fit failed (ValueError).",
        "worker_of_the_live_picture_ended",
        "tiewise invite-researcher wards --name NAME",
    ],
)
def test_what_is_nobodys_stays(text):
    assert scrub(text) == text


def record(message: str, *args: object, error: BaseException | None = None) -> logging.LogRecord:
    info = None
    if error is not None:
        try:
            raise error
        except BaseException:
            info = sys.exc_info()
    return logging.LogRecord("tiewise", logging.ERROR, "x.py", 1, message, args, info)


def violation() -> IntegrityError:
    detail = "duplicate key\nDETAIL: Key (code)=(8f1c22d0aa) already exists."
    return IntegrityError("INSERT INTO invites", {"name": "Ada Okafor"}, Exception(detail))


@pytest.mark.parametrize("formatter", [PlainFormatter(), JsonFormatter()])
def test_values_of_statements_are_not_logged(formatter):
    """Neither those of an error that is logged, nor of one that is an argument of the message."""
    for line in (record("It failed", error=violation()), record("It failed: %s", violation())):
        text = formatter.format(line)
        assert "duplicate key" in text
        assert "IntegrityError" in text
        for word in ("Ada", "8f1c22d0aa", "INSERT"):
            assert word not in text


def test_json_is_one_line_with_its_fields():
    line = record("%s renewed\n", "picture", error=ValueError("one\ntwo"))
    line.fields = {"route": "/j/{secret}", "status": 404}
    text = JsonFormatter().format(line)
    assert "\n" not in text
    entry = json.loads(text)
    assert entry["message"] == "picture renewed"
    assert entry["level"] == "error"
    assert entry["errors"] == ["ValueError: one"]
    assert entry["trace"][-1].endswith(" record")
    assert (entry["route"], entry["status"]) == ("/j/{secret}", 404)
    assert entry["time"].endswith("+00:00")


def test_the_causes_of_an_error_are_named():
    error = RuntimeError("outer")
    error.__cause__ = KeyError("inner")
    assert json.loads(JsonFormatter().format(record("x", error=error)))["errors"] == [
        "RuntimeError: outer", "KeyError: 'inner'",
    ]  # fmt: skip


def test_rubbish_from_the_network_is_not_logged():
    line = record("Invalid HTTP request received.")
    assert NoiseFilter().filter(line)
    line.name = "uvicorn.error"
    assert not NoiseFilter().filter(line)
