"""Forms of a text that holds a number: which a language has, and which a whole number takes.

The names and rules are those of Unicode's CLDR, for whole numbers below a million.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple


class PluralRule(NamedTuple):
    """The forms of a language, "other" last, and the form of a number."""

    forms: tuple[str, ...]
    form: Callable[[int], str]


def _other(number: int) -> str:
    return "other"


def _one(number: int) -> str:
    return "one" if number == 1 else "other"


def _zero_or_one(number: int) -> str:
    return "one" if number in (0, 1) else "other"


def _ends_in_one(number: int) -> str:
    return "one" if number % 10 == 1 and number % 100 != 11 else "other"


def _two(number: int) -> str:
    return {1: "one", 2: "two"}.get(number, "other")


def _few(number: int) -> bool:
    return number % 10 in (2, 3, 4) and number % 100 not in (12, 13, 14)


def _east_slavic(number: int) -> str:
    one = number % 10 == 1 and number % 100 != 11
    return "one" if one else "few" if _few(number) else "many"


def _south_slavic(number: int) -> str:
    return {"many": "other"}.get(form := _east_slavic(number), form)


def _polish(number: int) -> str:
    return "one" if number == 1 else "few" if _few(number) else "many"


def _czech(number: int) -> str:
    return "one" if number == 1 else "few" if number in (2, 3, 4) else "other"


def _slovene(number: int) -> str:
    return {1: "one", 2: "two", 3: "few", 4: "few"}.get(number % 100, "other")


def _lithuanian(number: int) -> str:
    if number % 10 == 0 or 11 <= number % 100 <= 19:
        return "other"
    return "one" if number % 10 == 1 else "few"


def _latvian(number: int) -> str:
    if number % 10 == 0 or 11 <= number % 100 <= 19:
        return "zero"
    return "one" if number % 10 == 1 else "other"


def _romanian(number: int) -> str:
    if number == 1:
        return "one"
    return "few" if number == 0 or 1 <= number % 100 <= 19 else "other"


def _arabic(number: int) -> str:
    if number < 3:
        return ("zero", "one", "two")[number]
    rest = number % 100
    return "few" if 3 <= rest <= 10 else "many" if rest >= 11 else "other"


def _irish(number: int) -> str:
    if 3 <= number <= 10:
        return "few" if number <= 6 else "many"
    return _two(number)


def _welsh(number: int) -> str:
    return {0: "zero", 1: "one", 2: "two", 3: "few", 6: "many"}.get(number, "other")


def _maltese(number: int) -> str:
    rest = number % 100
    if number == 0 or 3 <= rest <= 10:
        return "few"
    return "many" if 11 <= rest <= 19 else _two(number)


ONE = PluralRule(("one", "other"), _one)
"""Of a language that is not listed."""
RULES = {
    "ja zh ko th vi id ms lo my km yo ig wo": PluralRule(("other",), _other),
    "fr pt hy ff am bn fa gu hi kn zu ak ln mg pa ti": PluralRule(("one", "other"), _zero_or_one),
    "is mk": PluralRule(("one", "other"), _ends_in_one),
    "he": PluralRule(("one", "two", "other"), _two),
    "be ru uk": PluralRule(("one", "few", "many", "other"), _east_slavic),
    "bs hr sr": PluralRule(("one", "few", "other"), _south_slavic),
    "pl": PluralRule(("one", "few", "many", "other"), _polish),
    "cs sk": PluralRule(("one", "few", "other"), _czech),
    "sl": PluralRule(("one", "two", "few", "other"), _slovene),
    "lt": PluralRule(("one", "few", "other"), _lithuanian),
    "lv": PluralRule(("zero", "one", "other"), _latvian),
    "mo ro": PluralRule(("one", "few", "other"), _romanian),
    "ar": PluralRule(("zero", "one", "two", "few", "many", "other"), _arabic),
    "ga": PluralRule(("one", "two", "few", "many", "other"), _irish),
    "cy": PluralRule(("zero", "one", "two", "few", "many", "other"), _welsh),
    "mt": PluralRule(("one", "two", "few", "many", "other"), _maltese),
}
BY_CODE = {code: rule for codes, rule in RULES.items() for code in codes.split()}


def plural_rule(code: str) -> PluralRule:
    """The forms of a language."""
    return BY_CODE.get(code, ONE)
