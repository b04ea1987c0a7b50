"""The OpenAPI description of the API, made from its table of operations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from tiewise.web.api.access import ERRORS, JSON, QUESTION
from tiewise.web.api.bodies import ErrorBody
from tiewise.web.api.json_schema import Schema, components, schema
from tiewise.web.request import Endpoint

ROOT = "/api/v1"
VERSION = 1
OPENAPI = "3.1.0"
METHODS = ("get", "head")
TOKEN = "token"


class Operation(NamedTuple):
    """Something that can be read: its path below the root, what it holds, and how it answers."""

    name: str
    holds: str
    endpoint: Endpoint
    content: Mapping[str, Schema]
    """The schema of the answer in each of its media types."""
    bodies: tuple[type, ...] = ()
    """The types that these schemas refer to."""
    parameters: tuple[Schema, ...] = ()
    public: bool = False
    scoped: bool = False
    """Whether it needs a token that was made for what judges wrote."""

    @property
    def path(self) -> str:
        """Its path on the site of the study."""
        return f"{ROOT}/{self.name}"


def description(operations: Sequence[Operation], server: str) -> dict[str, Any]:
    """The OpenAPI description of operations below the address `server`."""
    bodies = [body for operation in operations for body in operation.bodies]
    return {
        "openapi": OPENAPI,
        "info": {
            "title": "A study of Tiewise",
            "summary": "What the researchers of a running study see, for programs",
            "version": str(VERSION),
        },
        "servers": [{"url": server}],
        "security": [{TOKEN: []}],
        "paths": {
            f"/{operation.name}": {method: _operation(operation, method) for method in METHODS}
            for operation in operations
        },
        "components": {
            "schemas": components(ErrorBody, *bodies),
            "headers": HEADERS,
            "parameters": {"IfNoneMatch": IF_NONE_MATCH},
            "securitySchemes": {
                TOKEN: {
                    "type": "http", "scheme": "bearer",
                    "description": "a token that a researcher made on the page Run",
                },
            },
        },
    }  # fmt: skip


def _operation(operation: Operation, method: str) -> dict[str, Any]:
    name = (operation.name or "index").partition(".")[0]
    described = {
        "operationId": name if method == "get" else f"{name}-{method}",
        "summary": operation.holds,
        "parameters": [{"$ref": "#/components/parameters/IfNoneMatch"}, *operation.parameters],
        "responses": _responses(operation, with_body=method == "get"),
    }
    return described | ({"security": []} if operation.public else {})


def _responses(operation: Operation, *, with_body: bool) -> dict[str, Any]:
    cached = _headers("ETag", "Cache-Control")
    content = {media: {"schema": schema} for media, schema in operation.content.items()}
    answers: dict[str, Any] = {
        "200": {"description": operation.holds, "headers": cached, "content": content},
        "304": {"description": "nothing has changed since the answer with this ETag",
                "headers": cached},
    }  # fmt: skip
    for status, headers in ERROR_HEADERS.items():
        if _can_be(status, operation):
            answers[str(status)] = {
                "description": ERRORS[status],
                "headers": _headers(*headers),
                "content": {JSON: {"schema": schema(ErrorBody)}},
            }
    if not with_body:
        answers = {
            status: {key: value for key, value in answer.items() if key != "content"}
            for status, answer in answers.items()
        }
    return answers


def _can_be(status: int, operation: Operation) -> bool:
    """Whether an operation can end in this error."""
    if status == 404:
        return any(parameter["name"] == QUESTION for parameter in operation.parameters)
    return (status != 401 or not operation.public) and (status != 403 or operation.scoped)


def _headers(*names: str) -> dict[str, Schema]:
    return {name: {"$ref": f"#/components/headers/{name}"} for name in names}


ERROR_HEADERS: dict[int, tuple[str, ...]] = {
    400: (), 401: ("WWW-Authenticate",), 403: (), 404: (), 429: ("Retry-After",), 500: (), 503: (),
}  # fmt: skip
"""The errors of operations, and the headers that each has."""


def _header(text: str, kind: str = "string") -> Schema:
    return {"description": text, "required": True, "schema": {"type": kind}}


HEADERS = {
    "ETag": _header("changes when the answer does"),
    "Cache-Control": _header("private, no-cache: ask each time whether it is new"),
    "WWW-Authenticate": _header("Bearer"),
    "Retry-After": _header("seconds to wait", "integer"),
}
IF_NONE_MATCH = {
    "name": "If-None-Match", "in": "header", "schema": {"type": "string"},
    "description": "the ETag of an earlier answer; while nothing has changed, the answer is 304",
}  # fmt: skip
