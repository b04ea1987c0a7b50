"""The table of the API: routes, the list at its root and its description are made from it."""

from __future__ import annotations

from functools import cache
from typing import Any, get_type_hints

from starlette.routing import Route

from tiewise.study.export import COLUMNS, GRADED_COLUMNS
from tiewise.web.api import contents
from tiewise.web.api.access import (
    JSON,
    QUESTION,
    JsonContent,
    json_answer,
    public_endpoint,
    token_endpoint,
)
from tiewise.web.api.bodies import IndexBody
from tiewise.web.api.contents import FORMATS
from tiewise.web.api.json_schema import Schema, schema
from tiewise.web.api.openapi import ROOT, VERSION, Operation, description
from tiewise.web.site import Site


def routes() -> list[Route]:
    """The routes of the API."""
    return [Route(operation.path, operation.endpoint) for operation in operations()]


@cache
def operations() -> tuple[Operation, ...]:
    """Everything that can be read."""
    return (
        _json("", "the title of the study and the paths of the API", index),
        _json("study", "what is asked, and how far it is", contents.study, ASKED),
        _json("items", "what is compared", contents.items),
        _json("estimates", "quality and rank of every item, with their uncertainty",
              contents.estimates, ASKED),
        _json("coverage", "comparisons of every item, and what hangs together",
              contents.coverage, ASKED),
        _json("comments", "what judges ticked and wrote; needs a token that may read it",
              contents.comments, scoped=True),
        Operation(
            "export", "the judgements that count; format=jsonl or format=csv",
            token_endpoint(contents.export, FORMAT["name"]), EXPORT_CONTENT, parameters=(FORMAT,),
        ),
        Operation(
            "openapi.json", "this API, described for programs (OpenAPI 3.1); needs no token",
            public_endpoint(json_answer(described)), {JSON: {"type": "object"}}, public=True,
        ),
    )  # fmt: skip


def index(site: Site) -> IndexBody:
    """What there is to read."""
    return {
        "study": site.study.settings.study.title,
        "version": VERSION,
        "has": {
            operation.name: {"path": site.url(operation.path), "holds": operation.holds}
            for operation in operations()
            if operation.name
        },
    }


def described(site: Site) -> dict[str, Any]:
    """The OpenAPI description of the API on this site; nothing in it is of the study."""
    return description(operations(), (site.public_url or site.prefix) + ROOT)


def _json(
    name: str, holds: str, content: JsonContent, *parameters: Schema, scoped: bool = False
) -> Operation:
    body = get_type_hints(content)["return"]
    names = [parameter["name"] for parameter in parameters]
    endpoint = token_endpoint(json_answer(content), *names, comments=scoped)
    return Operation(
        name, holds, endpoint, {JSON: schema(body)}, (body,), parameters, scoped=scoped
    )


ASKED: Schema = {
    "name": QUESTION, "in": "query", "schema": {"type": "string"},
    "description": "the id of one of several questions; the first where none is named",
}  # fmt: skip


# The judgements.

COMPARISON: Schema = {
    "type": "object",
    "properties": {column: {"type": ["string", "null"]} for column in (*GRADED_COLUMNS, QUESTION)},
    "required": list(COLUMNS),
}
EXPORT_CONTENT: dict[str, Schema] = {
    FORMATS["jsonl"]: {
        "type": "string", "description": "one judgement a line",
        "contentMediaType": FORMATS["jsonl"], "contentSchema": COMPARISON,
    },
    FORMATS["csv"]: {
        "type": "string", "description": f"a table with the columns {', '.join(COLUMNS)}",
    },
}  # fmt: skip
FORMAT: Schema = {
    "name": "format", "in": "query", "description": "lines of JSON, or a table",
    "schema": {"type": "string", "enum": list(FORMATS), "default": "jsonl"},
}  # fmt: skip
