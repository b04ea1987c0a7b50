"""JSON schemas of the types in `bodies`."""

from __future__ import annotations

import types
from collections.abc import Iterator
from enum import Enum
from typing import (
    Annotated,
    Any,
    NamedTuple,
    NotRequired,
    Union,
    get_args,
    get_origin,
    get_type_hints,
    is_typeddict,
)

Schema = dict[str, Any]

PRIMITIVES = {
    str: "string", int: "integer", float: "number", bool: "boolean", types.NoneType: "null",
}  # fmt: skip
COMPONENTS = "#/components/schemas/"


class Keyword(NamedTuple):
    """A keyword of a JSON schema, beside the type that it narrows."""

    name: str
    value: float | str | tuple[str, ...]


def schema(kind: Any) -> Schema:
    """The schema of a type; a dictionary with named keys is referred to by its name."""
    origin, arguments = get_origin(kind), get_args(kind)
    if origin is Annotated:
        return _annotated(*arguments)
    if origin in (Union, types.UnionType):
        return {"anyOf": [schema(one) for one in arguments]}
    if origin is list:
        return {"type": "array", "items": schema(arguments[0])}
    if origin is dict:
        names, values = map(schema, arguments)
        return {"type": "object", "propertyNames": names, "additionalProperties": values}
    if is_typeddict(kind):
        return {"$ref": COMPONENTS + component_name(kind)}
    if issubclass(kind, Enum):
        return {"type": "string", "enum": [member.value for member in kind]}
    return {"type": PRIMITIVES[kind]}


def _annotated(kind: Any, *notes: str | Keyword) -> Schema:
    texts = [note for note in notes if isinstance(note, str)]
    keywords = {note.name: note.value for note in notes if isinstance(note, Keyword)}
    return schema(kind) | keywords | ({"description": texts[-1]} if texts else {})


def component_name(kind: type) -> str:
    """The name of a dictionary type in the description: Study for StudyBody."""
    return kind.__name__.removesuffix("Body")


def components(*kinds: Any) -> dict[str, Schema]:
    """The schemas of dictionary types, and of those that they mention, by name."""
    schemas: dict[str, Schema] = {}
    for kind in kinds:
        for typed in _typed_dicts(kind):
            schemas[component_name(typed)] = _object(typed)
    return dict(sorted(schemas.items()))


def _object(kind: type) -> Schema:
    fields = get_type_hints(kind, include_extras=True)
    return {
        "type": "object",
        "description": kind.__doc__,
        "properties": {name: schema(_present(field)) for name, field in fields.items()},
        "required": [name for name, field in fields.items() if field is _present(field)],
    }


def _present(field: Any) -> Any:
    """The type of a key where it is there."""
    return get_args(field)[0] if get_origin(field) is NotRequired else field


def _typed_dicts(kind: Any) -> Iterator[type]:
    if is_typeddict(kind):
        yield kind
    fields = get_type_hints(kind).values() if is_typeddict(kind) else get_args(kind)
    for one in fields:
        yield from _typed_dicts(one)
