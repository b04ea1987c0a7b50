"""Our own JSON files, read back: what is in them has the types that we wrote, or one line says so.

A shape is a type; a tuple of shapes, one of which fits; a list of one shape; or a dictionary of
shapes by key, where other keys are free.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any

from tiewise.errors import InputError
from tiewise.text import first_line, one_line

Shape = Any
MOST_BYTES = 64 << 20
NOTHING = type(None)
NUMBER = float
"""A whole number is one, too."""
_WORDS = {
    str: "text", int: "a whole number", float: "a number", bool: "true or false",
    dict: "names and values in braces", list: "a list", NOTHING: "null",
}  # fmt: skip


def read_json(
    path: Path, shape: Mapping[str, Shape], *, required: Collection[str] = (), way_out: str
) -> dict[str, Any]:
    """The names and values in a file; `way_out` ends the line that refuses others."""
    try:
        if path.stat().st_size > MOST_BYTES:
            raise InputError(f"{path} is larger than {MOST_BYTES >> 20} MiB; {way_out}")
        values = json.loads(path.read_text(encoding="utf-8"))
    except InputError:
        raise
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path} is not JSON ({first_line(error)}); {way_out}") from None
    except OSError as error:
        raise InputError(f"{path} cannot be read ({error.strerror}); {way_out}") from None
    fault = next(_faults(values, dict(shape), ""), None)
    missing = [] if fault else [name for name in required if name not in values]
    if fault or missing:
        raise InputError(f"{path}: {fault or f'{missing[0]} is missing'}; {way_out}")
    return dict(values)


def _faults(value: Any, shape: Shape, at: str) -> Iterator[str]:
    """What is of another type, as `seconds.total should be a number, not "x"`."""
    options = shape if isinstance(shape, tuple) else (shape,)
    fitting = [option for option in options if _has_type(value, option)]
    if not fitting:
        words = " or ".join(_WORDS[_plain(option)] for option in options)
        shown = one_line(json.dumps(value, ensure_ascii=False), 60)
        yield f"{at or 'the file'} should be {words}, not {shown}"
        return
    if isinstance(fitting[0], dict):
        for key, part in fitting[0].items():
            if key in value:
                yield from _faults(value[key], part, f"{at}.{key}".lstrip("."))
    elif isinstance(fitting[0], list):
        for k, part in enumerate(value):
            yield from _faults(part, fitting[0][0], f"{at}[{k + 1}]")


def _has_type(value: Any, shape: Shape) -> bool:
    kind = _plain(shape)
    if isinstance(value, bool):
        return kind is bool
    return isinstance(value, (int, float) if kind is float else kind)


def _plain(shape: Shape) -> type:
    return shape if isinstance(shape, type) else type(shape)
