"""One verdict in five places: terminal, report, briefing, dashboard and the partners' page."""

from __future__ import annotations

import html
import io
import re
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from pypdf import PdfReader
from rich.console import Console

from support.everyday import everyday
from support.form_browser import Visitor
from tiewise.cli.main import main
from tiewise.criticism.verdict import Verdict
from tiewise.posterior.results_folder import Results, read_results
from tiewise.report.briefing import write_briefing
from tiewise.report.html import rendered
from tiewise.report.terminal import print_results
from tiewise.study.create import create_study
from tiewise.study.snapshot_store import SnapshotStore
from tiewise.study.study import Study
from tiewise.study.values import TokenPurpose
from tiewise.web.app import make_app
from tiewise.web.live.live_fit import LiveFit

ITEMS = tuple(f"Proposal {letter}" for letter in "ABCDEFGH")
CASES = {"few": (5, False), "good": (600, False), "camps": (600, True)}
LEVELS = {"few": "stop", "good": "good", "camps": "care"}


def answered(study: Study, number: int, camps: bool) -> None:
    """Judgements by twelve judges of proposals a little apart; in two camps, of two opinions."""
    rng = np.random.default_rng(8)
    scales = 1.2 * np.stack([np.linspace(2, -2, 8), rng.permutation(np.linspace(2, -2, 8))])
    rows = []
    for k in range(number):
        left, right = rng.choice(8, 2, replace=False)
        judge = k % 12
        own = scales[judge % 2 if camps else 0]
        gap = own[left] - own[right] + rng.logistic()
        outcome = "tie" if abs(gap) < 0.5 else "left" if gap > 0 else "right"
        ids = list(study.items)
        rows.append(
            {"judge": f"j{judge}", "left": ids[left], "right": ids[right], "outcome": outcome}
        )
    store = study.store()
    store.import_judgements(rows, consent="made up")
    store.close()


def plain(text: str) -> str:
    """Text on one line, without tags."""
    return " ".join(html.unescape(re.sub(r"<[^>]*>", " ", text)).split())


@pytest.fixture(scope="module", params=everyday(list(CASES), "few"))
def shown(request, tmp_path_factory) -> tuple[str, Verdict, dict[str, str]]:
    """The verdict of a study, and what each of the five places shows of it."""
    folder = tmp_path_factory.mktemp(request.param)
    items = folder / "items.csv"
    items.write_text("id,name\n" + "".join(f"{k},{name}\n" for k, name in enumerate(ITEMS)))
    study = create_study(folder / "s", question="Which is better?", items=items)
    answered(study, *CASES[request.param])
    result = CliRunner().invoke(
        main, ["fit", str(study.folder), "--out", str(folder / "r"), "--seed", "1", "--no-report"]
    )
    assert result.exit_code == 0, result.output
    results = read_results(folder / "r")
    places = _of_results(results, folder) | _of_site(study)
    return request.param, Verdict.from_dict(results.facts["verdict"]), places


def _of_results(results: Results, folder: Path) -> dict[str, str]:
    console = Console(file=io.StringIO(), width=200, highlight=False)
    print_results(results, console)
    pages = PdfReader(write_briefing(results, out=folder / "b.pdf")).pages
    return {
        "terminal": plain(console.file.getvalue()),
        "report": plain(rendered(results, {})),
        "briefing": plain(" ".join(page.extract_text() for page in pages)),
    }


def _of_site(study: Study) -> dict[str, str]:
    store = study.store()
    snapshots = SnapshotStore(store)
    assert snapshots.take_lease("live", "me", 600)
    worker = LiveFit(study, store, "me")
    worker.renew(snapshots.pulse())
    app = make_app(study, store, secret="k" * 40)
    partner = app.state.site.researcher_store.make_token(TokenPurpose.SHARE)
    return {
        "dashboard": plain(Visitor(app).sign_in().get("/watch").text),
        "partners' page": plain(Visitor(app).get(f"/shared/{partner}").text),
    }


def test_each_study_has_the_verdict_it_deserves(shown):
    name, verdict, _ = shown
    assert verdict.level == LEVELS[name]
    assert verdict.headline is (name != "few")


def test_every_place_shows_the_same_verdict(shown):
    _, verdict, places = shown
    assert len(places) == 5
    for place, text in places.items():
        pieces = [verdict.text, *(part.text for part in verdict.parts)]
        positions = [text.find(piece) for piece in pieces]
        assert -1 not in positions, (place, pieces, text[:600])
        assert positions == sorted(positions), place


def test_no_place_shows_another_verdict_besides(shown):
    name, _, places = shown
    for place, text in places.items():
        assert ("These results can be trusted." in text) is (name == "good"), place
        assert ("Read these results with care." in text) is (name == "camps"), place
        assert ("Do not decide anything" in text) is (name == "few"), place


def test_without_a_headline_no_place_gives_the_chance_of_being_among_the_highest(shown):
    name, _, places = shown
    claims = ("to be among", "almost certainly above")
    for place in ("report", "briefing"):
        assert any(words in places[place] for words in claims) is (name != "few"), place
