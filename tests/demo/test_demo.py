"""The demonstration: two studies, judges who arrive, and nothing left behind."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
import urllib.request
from threading import Event

import numpy as np
import pytest

from support.command import refusal
from support.site import free_port
from tiewise.data.answers import SKIP, TIE
from tiewise.demo.essays import essays
from tiewise.demo.judges import SKIPPED, JudgeCrowd, add_earlier_answers, answer_of
from tiewise.demo.run import PORTS, demo_folder, make_studies, open_when_ready
from tiewise.demo.run import free_port as first_free_port
from tiewise.errors import InputError
from tiewise.study.checks.check import check_study


@pytest.fixture(scope="module")
def demos(tmp_path_factory):
    return make_studies(tmp_path_factory.mktemp("demo"), np.random.default_rng(2))


def test_better_essays_have_more_to_say():
    rng = np.random.default_rng(1)
    quality = rng.normal(size=200)
    words = [len(text.split()) for text in essays(quality, rng).values()]
    assert np.corrcoef(quality, words)[0, 1] > 0.7


def test_both_studies_are_sound_and_have_a_truth(demos):
    assert [demo.name for demo in demos] == ["county", "essays"]
    for demo in demos:
        assert demo.truth.keys() == demo.study.items.keys()
        assert check_study(demo.study.folder) == []
    assert demos[0].study.areas is not None
    assert len(list((demos[1].study.folder / "media").iterdir())) >= len(demos[1].truth)


def test_answers_are_those_of_the_model():
    """Rao–Kupper with δ = 0.4, written out."""
    rng, gap = np.random.default_rng(3), 0.7
    answers = np.array([answer_of(gap, rng) for _ in range(20_000)])
    on_scale = answers[answers != SKIP]
    assert np.mean(answers == SKIP) == pytest.approx(SKIPPED, abs=0.005)
    up, down = 1 / (1 + np.exp(0.4 - gap)), 1 / (1 + np.exp(0.4 + gap))
    for code, expected in ((0, up), (TIE, 1 - up - down), (2, down)):
        error = (expected * (1 - expected) / len(on_scale)) ** 0.5
        assert abs(np.mean(on_scale == code) - expected) < 4 * error


def test_judges_come_answer_and_go(demos):
    demo, stop = demos[0], Event()
    store = demo.study.store()
    try:
        earlier = add_earlier_answers(demo, store, np.random.default_rng(4))
        crowd = JudgeCrowd(demo, store, np.random.default_rng(5), together=2, pause=0.0)
        answer_once = crowd._answer

        def answer(judge):
            done = answer_once(judge)
            if crowd.answers >= 60:
                stop.set()
            return done

        crowd._answer = answer
        crowd.run(stop)
        with store.reading() as connection:
            from sqlalchemy import text

            count = connection.scalar(text("select count(*) from judgements"))
            judges = connection.scalar(text("select count(*) from judges"))
    finally:
        store.close()
    assert crowd.answers == 60
    assert count == earlier + 60
    assert judges > 8 + 2  # whoever has reached the target makes room for another


def test_judges_look_at_a_pair_before_they_answer(demos):
    """The next pair is shown at once, so that none seems to be answered in no time."""
    store = demos[1].study.store()
    try:
        crowd = JudgeCrowd(demos[1], store, np.random.default_rng(6))
        judge = crowd._arrival()
        first = store.open_offer(judge.judge)
        assert crowd._answer(judge)
        second = store.open_offer(judge.judge)
    finally:
        store.close()
    assert first is not None
    assert second is not None
    assert first.id != second.id


def test_a_folder_that_is_not_empty_is_left_alone(tmp_path):
    (tmp_path / "mine.txt").write_text("x")
    assert "is not empty" in refusal("demo", "--keep", tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]


def test_what_is_kept_stays_and_what_is_not_goes(tmp_path):
    with demo_folder(tmp_path / "kept") as kept:
        (kept / "a").write_text("x")
    with demo_folder(None) as gone:
        (gone / "a").write_text("x")
    assert kept.is_dir()
    assert not gone.exists()


def test_a_port_in_use_is_passed_over(monkeypatch):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        monkeypatch.setattr("tiewise.demo.run.PORTS", range(port, port + 1))
        with pytest.raises(InputError, match="all in use"):
            first_free_port()
    assert first_free_port() == port
    assert 8000 in PORTS


def test_the_browser_is_opened_once_the_site_listens(monkeypatch):
    opened = []
    monkeypatch.setattr("webbrowser.open", lambda link: opened.append(link) or True)
    with socket.create_server(("127.0.0.1", 0)) as site:
        assert open_when_ready(site.getsockname()[1], "http://there")
    assert opened == ["http://there"]


def test_one_command_shows_both_studies_and_leaves_nothing(tmp_path):
    port = free_port()
    words = [sys.executable, "-m", "tiewise.cli.main", "demo", "--no-browser", "--port", str(port)]
    demo = subprocess.Popen(
        words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        env={**os.environ, "TMPDIR": str(tmp_path)},
    )  # fmt: skip
    try:
        assert demo.stdout is not None
        lines = [demo.stdout.readline() for _ in range(5)]
        assert re.search(r"/county/sign-in/[0-9a-f]{32}", lines[0])
        for line, name in ((lines[1], "county"), (lines[3], "essays")):
            assert line.strip().endswith(f"http://127.0.0.1:{port}/{name}/")  # for judges
        assert "Ctrl-C" in lines[4]
        assert open_when_ready_quietly(port)
        for name in ("county", "essays"):
            page = urllib.request.urlopen(f"http://127.0.0.1:{port}/{name}/").read().decode()
            assert "made-up" in page
        assert any(tmp_path.iterdir())
    finally:
        demo.send_signal(signal.SIGINT)
        rest = demo.communicate(timeout=60)[0]
    assert demo.returncode == 0
    assert "Traceback" not in rest
    assert list(tmp_path.iterdir()) == []


def open_when_ready_quietly(port: int) -> bool:
    """Wait until the site listens; no browser is opened."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("webbrowser.open", lambda _: True)
        return open_when_ready(port, "")
