"""The fit to try, by the check that fails and the terms that the model has."""

from __future__ import annotations

import numpy as np
import pytest
from xarray import Dataset, DataTree

from tiewise.cli.term_options import OPTIONS
from tiewise.criticism.predictive_checks import Check
from tiewise.report.fit_advice import ADVICE, fit_to_try


def tree(*variables: str) -> DataTree:
    posterior = Dataset({name: (["draw"], np.zeros(2)) for name in ("quality", *variables)})
    return DataTree.from_dict({"posterior": posterior})


@pytest.mark.parametrize("key", ADVICE)
def test_a_failed_check_names_a_fit_that_the_model_is_not(key):
    advice = ADVICE[key]
    assert advice.option in fit_to_try(key, tree())
    assert fit_to_try(key, tree(advice.variable)) == ""
    assert fit_to_try(key, tree("something")) != ""


def test_no_fit_is_named_where_none_helps():
    assert fit_to_try("triads", tree()) == ""


def test_every_option_that_is_named_is_one_of_a_fit():
    from click import command

    @command()
    def nothing() -> None:
        """Nothing."""

    for option in OPTIONS:
        option(nothing)
    known = {name for parameter in nothing.params for name in parameter.opts}
    assert {f"--{advice.option}" for advice in ADVICE.values()} <= known


def test_the_assessment_advises_only_against_what_is_rare():
    from types import SimpleNamespace

    from tiewise.report import model_checks

    results = SimpleNamespace(tree=tree(), wording=SimpleNamespace(nouns="wards"))
    for p, expected in ((0.002, True), (0.03, False), (0.5, False)):
        check = Check("order", "Left or right", "%", 60.0, 45.0, 50.0, 55.0, p)
        text = model_checks._with_advice(check, results).text
        assert ("option order" in text) == expected
