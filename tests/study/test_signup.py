"""What a new judge tells of themselves: kept where it fits, refused where it does not."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tiewise.study.settings import SignUpField
from tiewise.study.signup import SignUpFault, clean_line, read_answers

ROLE = SignUpField(name="role", label="Role", kind="choice", required=True, choices=("a b", "c"))
YEARS = SignUpField(name="years", label="Years", kind="number")
NOTE = SignUpField(name="note", label="Note")


@pytest.mark.parametrize(
    ("field", "value", "kept"),
    [
        (ROLE, "a b", "a b"), (ROLE, " c ", "c"), (YEARS, "7", "7"), (YEARS, "7.50", "7.5"),
        (YEARS, "-3", "-3"), (YEARS, "٣", "3"), (YEARS, "1e3", "1000"), (NOTE, "é\tè", "é è"),
        (NOTE, "x" * 500, "x" * 500), (NOTE, "a\0b", "a b"),
    ],
)  # fmt: skip
def test_what_fits_is_kept(field, value, kept):
    assert read_answers([field], {field.name: value}) == ({field.name: kept}, [])


@pytest.mark.parametrize(
    ("field", "value", "why"),
    [
        (ROLE, "", "missing"), (ROLE, " \0 ", "missing"), (ROLE, "d", "choice"),
        (ROLE, "A B", "choice"), (YEARS, "x", "number"), (YEARS, "nan", "number"),
        (YEARS, "inf", "number"), (YEARS, "1e99", "number"), (YEARS, "1,5", "number"),
        (NOTE, "x" * 501, "long"),
    ],
)  # fmt: skip
def test_what_does_not_is_refused_with_its_reason(field, value, why):
    assert read_answers([field], {field.name: value}) == ({}, [SignUpFault(field.name, why)])


def test_nothing_is_kept_that_was_not_asked():
    assert read_answers([NOTE], {"note": "", "age": "7"}) == ({}, [])


@given(st.text())
def test_tidied_text_is_a_line_that_any_database_takes(text):
    tidied = clean_line(text)
    assert "\0" not in tidied
    assert tidied == tidied.strip()
    assert "\n" not in tidied
    tidied.encode()
    assert clean_line(tidied) == tidied
