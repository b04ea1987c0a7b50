"""How far the computation can be trusted follows from its diagnostics."""

from __future__ import annotations

import pytest

from support.handmade_results import FACTS
from tiewise.report.verdict import ComputationVerdict, computation_verdict, reader_warning


@pytest.mark.parametrize(
    ("facts", "level", "warned"),
    [
        ({}, "good", ""),
        ({"rhat_max": 1.01, "ess_min": 400.0}, "good", ""),
        ({"rhat_max": 1.011}, "care", "Preliminary"),
        ({"ess_min": 399.0}, "care", "Preliminary"),
        ({"rhat_max": 1.05, "ess_min": 10.0}, "care", "Preliminary"),
        ({"rhat_max": 1.051}, "stop", "Do not use"),
        ({"rhat_max": None, "ess_min": None}, "stop", "Do not use"),
        ({"kind": "point"}, "care", "Preliminary"),
        ({"kind": "approximate", "engine_facts": {"health": "good", "k_hat": 0.1}}, "care",
         "Preliminary: a quick approximation."),
        ({"kind": "approximate", "engine_facts": {"health": "poor", "k_hat": 0.9}}, "stop",
         "Preliminary: a quick approximation, which fits poorly here."),
    ],
)  # fmt: skip
def test_the_verdict_follows_the_diagnostics(facts, level, warned):
    all_facts = FACTS | facts
    assert computation_verdict(all_facts).level == level
    assert reader_warning(all_facts).startswith(warned)
    assert (reader_warning(all_facts) == "") is (level == "good")


def test_a_verdict_gives_its_reasons():
    good = computation_verdict(FACTS)
    assert good == ComputationVerdict(
        "good", "The computation can be trusted.",
        ("Chains that began far apart tell the same story: largest R-hat 1.002, wanted below 1.01.",
         "The draws are worth at least 3000 independent ones; 400 would do."),
    )  # fmt: skip
    unknown = computation_verdict(FACTS | {"rhat_max": None, "ess_min": None})
    assert all("nan" not in reason and "unknown" in reason for reason in unknown.reasons)
    poor = computation_verdict(
        FACTS | {"kind": "approximate", "engine_facts": {"health": "poor", "k_hat": 0.9}}
    )
    assert "poor (Pareto k-hat 0.90)" in poor.reasons[0]
