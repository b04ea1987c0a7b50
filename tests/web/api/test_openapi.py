"""The OpenAPI description of the API: what is served, and that the API answers as it says."""

from __future__ import annotations

import copy
import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest
from hypothesis import HealthCheck, Phase, given, settings

from support.everyday import everyday
from support.form_browser import Visitor
from support.site import copy_study, edited
from tiewise.errors import InputWarning
from tiewise.study.export import columns
from tiewise.study.researcher_store import ResearcherStore
from tiewise.study.snapshot_store import SnapshotStore
from tiewise.study.study import Study
from tiewise.study.values import TokenPurpose
from tiewise.web.api.openapi import ROOT
from tiewise.web.app import make_app
from tiewise.web.live.cache import SnapshotCache
from tiewise.web.live.live_fit import LiveFit
from tiewise.web.security import RateLimit, RateLimits

OLD_STUDY = Path(__file__).parents[2] / "fixtures" / "version-0.1" / "study"
PATH = f"{ROOT}/openapi.json"
NO_LIMIT = RateLimits(*[RateLimit(10**9, 60)] * len(RateLimits()))


def upgraded(folder: Path) -> Study:
    """A study with judgements and figures, made by version 0.1."""
    copied = copy_study(Study.open(OLD_STUDY), folder)
    with pytest.warns(InputWarning, match="upgraded"):
        copied.store().close()
    return copied


@pytest.fixture(scope="module")
def study(tmp_path_factory) -> Study:
    return upgraded(tmp_path_factory.mktemp("described") / "old")


def without_answers(study: Study) -> Study:
    (study.folder / "study.db").unlink()
    return study


def fitted_now(study: Study) -> Study:
    store = study.store()
    assert SnapshotStore(store).take_lease("live", "me", 600)
    LiveFit(study, store, "me").renew(SnapshotStore(store).pulse())
    store.close()
    return study


def graded(study: Study) -> Study:
    """Without what version 0.1 stored, with answers in four grades, fitted."""
    swaps = {"[answers]": "[answers]\ngrades = 4", "ties = true": "ties = false"}
    new = edited(without_answers(study), swaps)
    store, (one, two, *_) = new.store(), new.items
    rows = [
        {"judge": "ada", "left": one, "right": two, "outcome": side, "grade": grade}
        for side in ("left", "right")
        for grade in (1, 2)
    ]
    store.import_judgements(rows, consent="1")
    store.close()
    return fitted_now(new)


STATES: dict[str, Callable[[Study], Study]] = {
    "new": without_answers,
    "version 0.1": lambda study: study,
    "fitted now": fitted_now,
    "on a scale": lambda study: fitted_now(edited(study, {}, '\n[model]\nscale = "elo"\n')),
    "graded": graded,
}


class Reader:
    """A program with a token, and the description that it was given."""

    def __init__(self, study: Study, **options: Any) -> None:
        self.study = study
        self.app = make_app(study, study.store(), secret="k" * 40, **options)
        self.client = Visitor(self.app).client
        self.description = self.client.get(PATH).json()
        store = ResearcherStore(study.store())
        token = store.make_token(TokenPurpose.COMMENTS, label="t")
        self.headers = {"Authorization": f"Bearer {token}"}

    def operations(self) -> Iterator[tuple[str, str]]:
        for path, methods in self.description["paths"].items():
            for method in methods:
                yield method, path

    def ask(self, method: str, path: str, query: str = "", **headers: str) -> Any:
        return self.client.request(method, ROOT + path + query, headers=self.headers | headers)


@pytest.fixture(scope="module", params=everyday(list(STATES), "new", "version 0.1"))
def reader(request, tmp_path_factory) -> Reader:
    study = upgraded(tmp_path_factory.mktemp("read") / "study")
    return Reader(STATES[request.param](study), limits=NO_LIMIT)


@pytest.fixture
def plain(study) -> Reader:
    return Reader(study)


# Comparing an answer with its description.


def closed(description: Any) -> Any:
    """The description with no room for keys that it does not name."""
    strict = copy.deepcopy(description)
    for part in strict["components"]["schemas"].values():
        part["additionalProperties"] = False
    return strict


def faults(description: Any, method: str, path: str, answer: Any) -> list[str]:
    """Where an answer is not as described."""
    responses = description["paths"][path][method]["responses"]
    if str(answer.status_code) not in responses:
        return [f"status {answer.status_code} is not described"]
    response = responses[str(answer.status_code)]
    headers = [name for name in response.get("headers", {}) if name not in answer.headers]
    content = response.get("content", {})
    media = answer.headers.get("content-type", "")
    if not content or media not in content:
        unknown = [] if bool(content) == bool(answer.content) else [f"media type {media!r}"]
        return [*headers, *unknown]
    schema = content[media]["schema"]
    body = answer.json() if media == "application/json" else answer.text
    return [*headers, *schema_faults(description, schema, body)]


def schema_faults(description: Any, schema: Any, body: Any) -> list[str]:
    whole = schema | {"components": closed(description)["components"]}
    validator = jsonschema_rs.Draft202012Validator(whole, validate_formats=True)
    return [str(error) for error in validator.iter_errors(body)]


# The description.


@pytest.mark.slow
def test_it_is_valid_openapi(plain):
    from schemathesis import openapi

    assert plain.description["openapi"].startswith("3.1")
    openapi.from_dict(copy.deepcopy(plain.description)).validate()
    with pytest.raises(jsonschema_rs.ValidationError):
        openapi.from_dict(plain.description | {"paths": {"study": {}}}).validate()


def test_every_route_of_the_api_is_described_and_no_other(plain):
    routes = {
        (method.lower(), route.path.removeprefix(ROOT))
        for route in plain.app.routes if route.path.startswith("/api/")
        for method in route.methods
    }  # fmt: skip
    assert set(plain.operations()) == routes
    names = [
        plain.description["paths"][path][method]["operationId"]
        for method, path in plain.operations()
    ]
    assert len(set(names)) == len(names)


def test_it_needs_no_token_and_tells_nothing_of_the_study(study):
    answer = Visitor(make_app(study, study.store(), secret="k" * 40)).get(PATH)
    assert answer.status_code == 200
    facts = [study.settings.study.title, study.settings.study.question]
    facts += [item.name for item in study.items.values()]
    assert [fact for fact in facts if fact in answer.text] == []


def test_it_names_the_address_that_programs_reach(study):
    def servers(**options: str) -> Any:
        reader = Reader(study, **options)
        return reader.client.get(PATH).json()["servers"]

    assert servers() == [{"url": "/api/v1"}]
    assert servers(prefix="/wards") == [{"url": "/wards/api/v1"}]
    assert servers(public_url="https://study.test/a") == [{"url": "https://study.test/a/api/v1"}]


# The answers.


def test_every_answer_is_as_described(reader):
    for method, path in reader.operations():
        answer = reader.ask(method, path)
        assert (answer.status_code, faults(reader.description, method, path, answer)) == (200, [])
        again = reader.ask(method, path, **{"if-none-match": answer.headers["etag"]})
        assert (again.status_code, faults(reader.description, method, path, again)) == (304, [])


def test_judgements_are_as_described(reader):
    responses = reader.description["paths"]["/export"]["get"]["responses"]
    content = responses["200"]["content"]["application/x-ndjson"]["schema"]
    line_schema = content["contentSchema"] | {"additionalProperties": False}
    lines = reader.ask("get", "/export").text.splitlines()
    for line in lines:
        assert schema_faults(reader.description, line_schema, json.loads(line)) == []
    table = reader.ask("get", "/export", "?format=csv")
    assert faults(reader.description, "get", "/export", table) == []
    assert table.text.splitlines()[0] == ",".join(columns(reader.study))
    assert len(table.text.splitlines()) == len(lines) + 1


def test_refusals_are_as_described(study):
    reader = Reader(study, limits=RateLimits(programs=RateLimit(2, 60)))
    for method, path in reader.operations():
        private = path != "/openapi.json"
        answers = [
            reader.client.request(method, ROOT + path, headers={"authorization": "Bearer x"})
            for _ in range(3)
        ]
        expected = {401, 429} if private else {429}
        assert {answer.status_code for answer in answers} <= expected
        assert answers[-1].status_code == 429
        for answer in answers:
            assert faults(reader.description, method, path, answer) == []


def test_parameters_that_are_not_described_are_refused(plain):
    for method, path in plain.operations():
        answer = plain.ask(method, path, "?formt=csv")
        assert answer.status_code == 400
        assert faults(plain.description, method, path, answer) == []


def test_errors_are_as_described(plain, monkeypatch):
    bad = plain.ask("get", "/export", "?format=xml")
    assert (bad.status_code, faults(plain.description, "get", "/export", bad)) == (400, [])

    def broken(self: Any) -> None:
        raise RuntimeError("for this test")

    monkeypatch.setattr(SnapshotCache, "snapshot", broken)
    for path in ("/study", "/estimates", "/coverage"):
        answer = plain.ask("get", path)
        assert (answer.status_code, faults(plain.description, "get", path, answer)) == (500, [])


def test_a_study_that_is_gone_is_as_described(tmp_path):
    reader = Reader(without_answers(copy_study(Study.open(OLD_STUDY), tmp_path / "study")))
    shutil.rmtree(tmp_path / "study")
    for method, path in reader.operations():
        answer = reader.ask(method, path)
        assert (answer.status_code, faults(reader.description, method, path, answer)) == (503, [])


@pytest.mark.parametrize(
    ("path", "keys", "value"),
    [
        ("/study", ["phase"], "ajar"),
        ("/study", ["answers", "maybe"], 3),
        ("/study", ["colour"], "red"),
        ("/estimates", ["snapshot", "made"], "yesterday"),
        ("/estimates", ["items", 0, "rank"], 0),
        ("/estimates", ["reliability"], 1.5),
        ("/estimates", ["items", 0, "judge"], "j1"),
        ("/coverage", ["items", 0, "part"], None),
        ("/", ["has", "study", "path"], 7),
    ],
)
def test_an_answer_that_is_not_as_described_is_noticed(plain, path, keys, value):
    """Or the comparisons above would compare nothing."""
    body = plain.ask("get", path).json()
    content = plain.description["paths"][path]["get"]["responses"]["200"]["content"]
    schema = content["application/json"]["schema"]
    assert schema_faults(plain.description, schema, body) == []
    inner = body
    for key in keys[:-1]:
        inner = inner[key]
    inner[keys[-1]] = value
    assert schema_faults(plain.description, schema, body) != []


# Requests made from the description.


@pytest.mark.slow
def test_schemathesis_finds_no_answer_against_the_description(study):
    """Fitting and unfitting requests, every check: statuses, headers, media types, schemas."""
    from schemathesis import openapi
    from schemathesis.generation import GenerationMode

    reader = Reader(study, limits=NO_LIMIT)
    schema = openapi.from_asgi(PATH, reader.app)
    schema.config.generation.with_security_parameters = False  # the token is ours
    operations = [one.ok() for one in schema.get_all_operations()]
    assert len(operations) == len(list(reader.operations())) - 1  # all but where it was read
    for operation in operations:
        # Where any text will do, nothing is unfitting.
        can_be_wrong = operation.path == "/export"
        for mode in list(GenerationMode) if can_be_wrong else [GenerationMode.POSITIVE]:
            strategy = operation.as_strategy(generation_mode=mode)

            @settings(
                max_examples=10, database=None, deadline=None, phases=[Phase.generate],
                suppress_health_check=list(HealthCheck),
            )  # fmt: skip
            @given(case=strategy)
            def answers_as_described(case: Any) -> None:
                case.call_and_validate(headers=reader.headers)

            answers_as_described()
