"""What a key of a TOML file must be, read from the dataclasses that it fills."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import MISSING, Field, fields
from datetime import date, datetime
from difflib import get_close_matches
from types import UnionType
from typing import Any, NamedTuple, get_args, get_origin, get_type_hints

from tiewise.text import one_line


class Problem(NamedTuple):
    """What is wrong with a key of the settings, and the way out."""

    key: str
    message: str

    def __str__(self) -> str:
        return f"{self.key}: {self.message}"


MappingCheck = Callable[[Any, str], Iterator[Problem]]
"""Of a value that must be a table of any keys, and where it stands."""


def type_problems(
    kind: type, table: Mapping[str, Any], check: MappingCheck, at: str = ""
) -> Iterator[Problem]:
    """Keys that are unknown, missing or of another kind than the fields of a dataclass.

    `check` is that of fields which are tables of any keys.
    """
    hints = get_type_hints(kind)
    known = {one.name: one for one in fields(kind)}
    for key in table:
        if key not in known:
            near = get_close_matches(key, known, 1)
            guess = f"did you mean {near[0]}?" if near else f"there are {', '.join(known)}"
            yield Problem(at + key, f"no such key; {guess}")
    for name, one in known.items():
        if name in table:
            yield from _value_type_problems(hints[name], table[name], check, at + name)
        elif _required(one):
            yield Problem(at + name, "missing; a study cannot do without it")


def _required(one: Field[Any]) -> bool:
    return one.default is MISSING and one.default_factory is MISSING


def _value_type_problems(hint: Any, value: Any, check: MappingCheck, at: str) -> Iterator[Problem]:
    if isinstance(hint, type) and hasattr(hint, "__dataclass_fields__"):
        if isinstance(value, Mapping):
            yield from type_problems(hint, value, check, f"{at}.")
        else:
            yield Problem(at, f"a table [{at}] was expected, not {short(value)}")
    elif get_origin(hint) is tuple:
        if not isinstance(value, list):
            yield Problem(at, f"a list in [brackets] was expected, not {short(value)}")
            return
        for k, part in enumerate(value):
            yield from _value_type_problems(get_args(hint)[0], part, check, f"{at}[{k + 1}]")
    elif get_origin(hint) is UnionType:  # a kind, or nothing
        yield from _value_type_problems(get_args(hint)[0], value, check, at)
    elif get_origin(hint) is not None:
        yield from check(value, at)
    elif not _has_type(value, hint):
        yield Problem(at, f"{_TYPE_WORDS[hint]} was expected, not {short(value)}")


_TYPE_WORDS = {
    str: "text in quotes",
    int: "a whole number",
    float: "a number",
    bool: "true or false",
    date: "a day such as 2027-01-31, without quotes,",
}


def short(value: Any) -> str:
    """A value in a message."""
    return one_line(repr(value), 80)


def _has_type(value: Any, kind: type) -> bool:
    if isinstance(value, bool):
        return kind is bool
    if isinstance(value, datetime):
        return False
    return isinstance(value, (int, float) if kind is float else kind)


def build(kind: type, table: Mapping[str, Any]) -> Any:
    """The dataclass that a table fills, once nothing is wrong with its keys."""
    hints = get_type_hints(kind)
    return kind(**{key: _build_value(hints[key], value) for key, value in table.items()})


def _build_value(hint: Any, value: Any) -> Any:
    if isinstance(hint, type) and hasattr(hint, "__dataclass_fields__"):
        return build(hint, value)
    if get_origin(hint) is tuple:
        return tuple(_build_value(get_args(hint)[0], part) for part in value)
    if get_origin(hint) is UnionType:
        return _build_value(get_args(hint)[0], value)
    return value
