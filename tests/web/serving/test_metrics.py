"""Metrics and the log of requests: counts by kind of page, never by path or person."""

from __future__ import annotations

import json
import logging
import re
import socket
import urllib.request

import click
import pytest
from click.testing import CliRunner
from starlette.applications import Starlette
from starlette.routing import Route
from starlette.testclient import TestClient

from support.site import copy_study, free_port, running, with_database
from tiewise.cli.main import main
from tiewise.errors import InputError
from tiewise.study.create import create_study
from tiewise.study.study import Study
from tiewise.web import server
from tiewise.web.server import open_site, serve
from tiewise.web.serving.counters import BUCKETS, KINDS, Counters
from tiewise.web.serving.metrics import metrics_text, start_metrics
from tiewise.web.serving.observer import RequestObserver

SECRET = "9c303af61e129595b299c41bab196996"
LINE = re.compile(r'[a-z_]+(\{[a-z]+="[^"]*"(,[a-z]+="[^"]*")*\})? -?[0-9.]+')


@pytest.fixture(scope="module")
def template(tmp_path_factory) -> Study:
    folder = tmp_path_factory.mktemp("metrics")
    (folder / "items.csv").write_text("name\na\nb\nc\nd\n", encoding="utf-8")
    return with_database(create_study(folder / "s", question="Which?", items=folder / "items.csv"))


@pytest.fixture
def study(template, tmp_path) -> Study:
    return copy_study(template, tmp_path / "s")


# Counting.


@pytest.mark.parametrize("several", [False, True])
def test_requests_are_counted_by_kind_and_status(study, tmp_path, template, several):
    folders, prefix = [study.folder], ""
    if several:
        copy_study(template, tmp_path / "t")
        folders, prefix = [study.folder, tmp_path / "t"], "/s"
    counters = Counters.private()
    client = TestClient(RequestObserver(open_site(*folders), counters), follow_redirects=False)
    for path in ("/", f"/j/{SECRET}", "/watch", "/api/v1/", "/static/site.css", "/health", "/no"):
        client.get(prefix + path)
    client.post(f"{prefix}/answer")
    counted = {kind: sum(counters.total(f"{kind} {b}") for b in BUCKETS) for kind in KINDS}
    assert counted == {
        "judge": 2, "answer": 1, "researcher": 1, "api": 1, "file": 1, "health": 1, "unknown": 1,
    }  # fmt: skip
    assert counters.total("judge 2xx") == 1
    assert counters.total("judge 4xx") == 1
    assert counters.total("researcher 3xx") == 1


def test_an_error_of_ours_is_counted_as_one():
    async def broken(_):
        raise RuntimeError("boom")

    counters, app = Counters.private(), Starlette(routes=[Route("/pair", broken)])
    client = TestClient(RequestObserver(app, counters), raise_server_exceptions=False)
    assert client.get("/pair").status_code == 500
    assert counters.total("judge 5xx") == 1


def test_the_log_of_requests_names_routes_alone(study, caplog):
    caplog.set_level(logging.INFO, logger="tiewise.requests")
    client = TestClient(RequestObserver(open_site(study.folder), Counters.private(), logs=True))
    client.get(f"/j/{SECRET}")
    client.get("/?code=8f1c22d0aa")
    client.get(f"/{SECRET}")
    fields = [record.fields for record in caplog.records]
    assert [one["route"] for one in fields] == ["/j/{secret}", "/", None]
    assert [one["status"] for one in fields] == [404, 200, 404]
    assert all(set(one) == {"method", "route", "status", "milliseconds"} for one in fields)


# What Prometheus reads.


def test_metrics_are_in_prometheus_format():
    counters = Counters.private()
    for seconds in (0.003, 0.003, 0.3, 70):
        counters.record("answer", 303, seconds)
    text = metrics_text(counters, {'a "b"': 1.5})
    lines = text.splitlines()
    assert all(line.startswith("# ") or LINE.fullmatch(line.replace(r"\"", "")) for line in lines)
    for line in (
        'tiewise_requests_total{kind="answer",status="3xx"} 4',
        'tiewise_request_seconds_bucket{kind="answer",le="0.005"} 2',
        'tiewise_request_seconds_bucket{kind="answer",le="0.25"} 2',
        'tiewise_request_seconds_bucket{kind="answer",le="0.5"} 3',
        'tiewise_request_seconds_bucket{kind="answer",le="10"} 3',
        'tiewise_request_seconds_bucket{kind="answer",le="+Inf"} 4',
        'tiewise_request_seconds_sum{kind="answer"} 70.306000',
        'tiewise_request_seconds_count{kind="answer"} 4',
        "tiewise_workers 1",
        r'tiewise_live_worker_age_seconds{study="a \"b\""} 1.500',
    ):
        assert line in lines


def test_metrics_are_for_this_machine_alone_and_answer_without_a_database():
    def ages():
        raise OSError

    port = free_port()
    site = start_metrics(port, Counters.private(), ages)
    try:
        assert site.server_address == ("127.0.0.1", port)
        page = urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics").read().decode()
        assert "tiewise_connections 0" in page
        assert "live_worker" not in page
        with pytest.raises(urllib.error.HTTPError, match="404"):
            urllib.request.urlopen(f"http://127.0.0.1:{port}/")
    finally:
        site.shutdown()


def test_a_port_for_metrics_that_is_taken_is_refused(study):
    with (
        socket.create_server(("127.0.0.1", 0)) as taken,
        pytest.raises(InputError, match="metrics_port="),
    ):
        serve(study.folder, port=free_port(), metrics_port=taken.getsockname()[1])


# Options.


def test_every_option_of_serve_is_an_environment_variable(monkeypatch):
    command = main.commands["serve"]
    context = click.Context(command, **command.context_settings)
    options = [one for one in command.params if isinstance(one, click.Option)]
    assert len(options) > 15
    for option in options:
        name = f"TIEWISE_{option.opts[0].strip('-').replace('-', '_').upper()}"
        monkeypatch.setenv(name, "7")
        assert option.resolve_envvar_value(context) == "7", name
        monkeypatch.delenv(name)


def test_options_arrive_through_the_environment(monkeypatch, tmp_path):
    values = {
        "host": "0.0.0.0", "port": 8123, "workers": 3, "public_url": "https://a.org",
        "behind_proxy": True, "sign_in_link": True, "min_free_bytes": 5, "log_format": "json",
        "metrics_port": 9123,
    }  # fmt: skip
    limits = {
        "max_header_bytes": 2048, "header_seconds": 1.5, "max_body_bytes": 4096,
        "body_seconds": 2.5, "max_connections": 9,
    }  # fmt: skip
    settings = values | limits | {"sign_ups": 7, "no_live": True}
    arrived: dict = {}
    monkeypatch.setattr(server, "serve", lambda *folders, **options: arrived.update(options))
    env = {f"TIEWISE_{name.upper()}": str(value) for name, value in settings.items()}
    result = CliRunner().invoke(main, ["serve", str(tmp_path)], env=env, catch_exceptions=False)
    assert result.exit_code == 0, result.output
    assert {name: arrived[name] for name in values} == values
    assert arrived["http_limits"]._asdict() == limits
    assert arrived["limits"].sign_ups.number == 7
    assert arrived["live"] is False


def test_a_variable_that_cannot_be_is_one_line(tmp_path):
    env = {"TIEWISE_PORT": "many"}
    result = CliRunner().invoke(main, ["serve", str(tmp_path)], env=env)
    assert result.exit_code == 2
    assert "TIEWISE_PORT" in result.output or "--port" in result.output


def test_a_link_to_sign_in_is_not_for_the_log(study):
    with pytest.raises(InputError, match="sign_in_link=True"):
        serve(study.folder, log_format="json", sign_in_link=True)


@pytest.mark.slow
def test_the_log_of_a_real_site_is_json_without_secrets(study):
    """From its first line to its last, the live worker's included."""
    with running(study.folder, "--log-format", "json") as (url, site):
        urllib.request.urlopen(f"{url}/?code=8f1c22d0aa").close()
        with pytest.raises(urllib.error.HTTPError):
            urllib.request.urlopen(f"{url}/sign-in/{SECRET}")
        site.terminate()
        output = site.communicate(timeout=30)[0]
    entries = [json.loads(line) for line in output.splitlines()]
    assert {"/", "/sign-in/{secret}", "/health/ready"} <= {one.get("route") for one in entries}
    assert any("Nobody can sign in yet" in one["message"] for one in entries)
    for word in (SECRET, "8f1c22d0aa", '"127.0.0.1"'):
        assert word not in output
