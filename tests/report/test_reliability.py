"""Effective draws and reliability: the same figures wherever a reader meets them."""

from __future__ import annotations

import io
import json

import numpy as np
import pytest
from rich.console import Console

from support.panel import crowd
from tiewise.engines.laplace import Laplace
from tiewise.engines.transport import Transport
from tiewise.model.quality_priors import Independent
from tiewise.posterior.results_folder import Results, read_results
from tiewise.report.model_checks import reliability_finding
from tiewise.report.reliability import reliability_sentences, which_to_quote
from tiewise.report.sections.diagnostics import diagnostics_section, sampling_notes
from tiewise.report.terminal import print_results
from tiewise.workflows.analyse import analyse

ITEMS = tuple(f"{k:02d}" for k in range(12))


@pytest.fixture(scope="module")
def results(tmp_path_factory) -> Results:
    """A study whose sampling had to go on."""
    _, data = crowd(Independent(ITEMS), np.random.default_rng(2), good=6, each=30)
    out = tmp_path_factory.mktemp("reliability") / "out"
    analyse(data, out, engine=Transport(draws=200, chains=8), rng=3, ess=400, report=False)
    return read_results(out)


def printed(results: Results) -> str:
    page = io.StringIO()
    print_results(results, Console(file=page, width=500))
    return page.getvalue()


def test_the_least_effective_size_is_one_number_everywhere(results):
    ess = f"{results.facts['ess_min']:,.0f}"
    stored = json.loads((results.folder / "fit.json").read_text())
    assert stored["ess_min"] == pytest.approx(results.tree.attrs["ess_min"], abs=0.05)
    assert 400 <= stored["ess_min"] <= stored["draws"]
    assert f"worth at least {ess} independent ones" in printed(results)
    (box, *_) = diagnostics_section(results).blocks
    assert f"worth at least {ess} independent ones" in " ".join(box.reasons)
    assert f"worth at least {ess} independent ones" in str(stored["verdict"])


def test_sampling_that_went_on_is_told(results):
    times = 2 ** results.facts["rounds"]
    assert times > 1
    assert f"(sampled {times} times as long as planned)" in printed(results)
    assert sampling_notes(results.facts) == [
        f"Sampling went on by itself to {times} times the draws that were planned."
    ]


def test_what_is_watched_among_very_many_items_is_stated(results):
    few, many = (dict(results.facts) | {"rounds": 0, "items": n} for n in (2000, 2001))
    assert sampling_notes(few) == []
    (note,) = sampling_notes(many)
    assert "the 300 least compared, the 250 highest and the 250 lowest" in note


def test_terminal_report_and_fit_json_have_the_same_reliability(results):
    facts = results.facts["reliability"]
    assert 0 < facts["ssr"] < 1
    assert facts["split_half_low"] <= facts["split_half"] <= facts["split_half_high"]
    sentences = reliability_sentences(facts, "items")
    assert " ".join(sentences) in printed(results)
    finding = reliability_finding(results).text
    assert all(sentence in finding for sentence in sentences)
    assert sentences[-1] == which_to_quote(facts)


def test_without_judges_ssr_is_the_one_to_quote(tmp_path):
    _, data = crowd(Independent(ITEMS), np.random.default_rng(2), good=3, each=30)
    out = analyse(data, tmp_path / "out", engine=Laplace(draws=200), rng=1, report=False)
    facts = out.facts["reliability"]
    assert facts["split_half"] is None
    assert "fewer than 4 judges are known" in facts["split_half_left_out"]
    assert "Quote SSR, and say that it rests on the model" in printed(out)
