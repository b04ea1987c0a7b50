"""Words and numbers for people: what is shown, letter by letter."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tiewise.text import (
    capital,
    could_be,
    error_line,
    first_line,
    isolate,
    isolate_names,
    noun_forms,
    one_line,
    percent,
    probability_percent,
    probability_scale_rows,
    probability_words,
    quantity,
    rounded_down,
    sentence_list,
    signed,
    some_names,
    true_minus,
    without_controls,
)

LEAST = {
    "almost certain": 0.95, "very likely": 0.80, "likely": 0.60, "about as likely as not": 0.40,
    "unlikely": 0.20, "very unlikely": 0.05, "almost ruled out": 0.0,
}  # fmt: skip
"""The scale as the documentation prints it."""


# The scale of probabilities.


@pytest.mark.parametrize(("words", "least"), LEAST.items())
def test_the_words_change_exactly_at_the_stated_numbers(words, least):
    assert probability_words(least) == words
    if least > 0:
        assert probability_words(np.nextafter(least, 0)) != words


def test_a_chance_that_was_not_computed_has_no_word_of_the_scale():
    assert probability_words(np.nan) not in LEAST
    assert "%" not in probability_percent(np.nan)


def test_the_printed_scale_is_the_scale():
    rows = probability_scale_rows()
    assert [words for words, _ in rows] == list(LEAST)
    assert [span for _, span in rows] == [
        "95 % or more", "80 to 94 %", "60 to 79 %", "40 to 59 %", "20 to 39 %", "5 to 19 %",
        "below 5 %",
    ]  # fmt: skip


@given(st.floats(0, 1))
def test_a_percentage_lies_in_the_range_of_its_word(probability):
    """Nobody reads `very likely (95 %)` beside a scale on which 95 % is almost certain."""
    shown = probability_percent(probability)
    if shown not in ("below 1 %", "above 99 %"):
        assert probability_words(int(shown.removesuffix(" %")) / 100) == probability_words(
            probability
        )
        assert abs(int(shown.removesuffix(" %")) - 100 * probability) < 1


@pytest.mark.parametrize(
    ("probability", "shown"),
    [
        (0, "below 1 %"), (0.0099, "below 1 %"), (0.01, "1 %"), (0.29, "29 %"), (0.5, "50 %"),
        (0.946, "94 %"), (0.95, "95 %"), (0.99, "99 %"), (0.9901, "above 99 %"), (1, "above 99 %"),
    ],
)  # fmt: skip
def test_nothing_is_impossible_and_nothing_certain(probability, shown):
    assert probability_percent(probability) == shown


# Other numbers.


@pytest.mark.parametrize(
    ("share", "digits", "shown"),
    [
        (0.42, 0, "42 %"),
        (0.4249, 1, "42.5 %"),
        (0, 0, "0 %"),
        (1, 0, "100 %"),
        (None, 0, "–"),
        (np.nan, 2, "–"),
    ],
)
def test_a_share_is_in_per_cent(share, digits, shown):
    assert percent(share, digits) == shown


def test_a_probability_may_be_rounded_without_its_words():
    shown = [probability_percent(p, match_words=False) for p in (0.001, 0.42, 0.946, 0.999, None)]
    assert shown == ["below 1 %", "42 %", "95 %", "above 99 %", "–"]


def test_a_reliability_is_rounded_down():
    assert [rounded_down(value) for value in (0.8, 0.7999, 0.29)] == ["0.80", "0.79", "0.29"]


def test_signs_are_as_wide_as_each_other_and_zero_has_none():
    assert [signed(value) for value in (0.4, -1.25, 0.001, -0.001)] == [
        "+0.40", "−1.25", "0.00", "0.00",
    ]  # fmt: skip
    assert signed(-0.04, 1) == "0.0"
    assert true_minus("-1e-05") == "−1e−05"


# Words.


def test_numbers_agree_with_their_nouns():
    assert quantity(1, "judge") == "1 judge"
    assert quantity(0, "judge") == "0 judges"
    assert quantity(1204, "city", "cities") == "1,204 cities"


def test_names_are_listed_as_in_speech():
    assert sentence_list([]) == ""
    assert sentence_list(["A"]) == "A"
    assert sentence_list(["A", "B"]) == "A and B"
    assert sentence_list(["A", "B", "C"]) == "A, B and C"
    assert sentence_list([str(k) for k in range(1204)], 2) == "0, 1 and 1,202 more"


def test_a_line_is_one_line():
    assert one_line("a\n b\t\x1b[31mc\x00") == "a b [31mc"
    assert one_line("abcdef", 6) == "abcdef"
    assert one_line("abcdefg", 6) == "abcde…"


def test_a_noun_may_bring_its_own_plural():
    assert noun_forms("ward") == ("ward", "wards")
    assert noun_forms("city/cities") == ("city", "cities")


def test_a_capital_is_the_first_letter_only():
    assert capital("higher risk in Kenya") == "Higher risk in Kenya"
    assert capital("") == ""


def test_some_names_are_quoted_and_the_rest_counted():
    names = ["a", "it's", "c", "d"]
    assert some_names(names, 2) == "'a', \"it's\" and 2 more"
    assert some_names(names) == "'a', \"it's\", 'c', 'd'"
    assert some_names(names, 3, quotes=False) == "a, it's, c and 1 more"
    assert some_names(names, 1, ellipsis=True) == "'a', …"
    assert some_names([]) == ""


def test_a_printable_line_has_no_letter_that_shows_nothing():
    assert one_line("a\u202eb") == "a\u202eb"
    assert one_line("a\u202eb", printable=True) == "ab"
    assert one_line("ab cdef", 4, printable=True) == "ab…"


def test_an_error_is_told_on_one_line():
    assert error_line(ValueError("two\n lines")) == "ValueError: two lines"
    assert error_line(KeyError()) == "KeyError"
    assert first_line(ValueError("two\nlines")) == "two"
    assert first_line(ValueError()) == "ValueError"


# Letters.


def test_control_characters_are_dropped_and_lines_kept():
    assert without_controls("a\x00b\x1b\n\tc\ud800") == "ab\n\tc"


def test_only_names_that_could_reorder_a_sentence_are_isolated():
    assert isolate("Masaki") == "Masaki"
    assert isolate("حي") == "\u2068حي\u2069"
    assert isolate("a\u202eb") == "\u2068a\u202eb\u2069"


def test_names_within_a_sentence_are_isolated_the_longest_first():
    assert isolate_names("حي شرق is high", ["حي", "حي شرق"]) == "\u2068حي شرق\u2069 is high"
    assert isolate_names("Masaki is high", ["Masaki"]) == "Masaki is high"


@pytest.mark.parametrize(
    ("ends", "words"),
    [((1, 36), "could be 1 to 36"), ((2.0, 2.0), "no other"), ((float("nan"), 3), "")],
)
def test_where_an_item_could_be_is_said_in_words(ends, words):
    assert could_be(*ends) == words
