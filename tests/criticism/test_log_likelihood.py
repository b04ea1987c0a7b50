"""The tree as ArviZ wants it: the log likelihood of every judgement, bounded in memory."""

from __future__ import annotations

import numpy as np
import pytest
from arviz_stats import loo, psense_summary
from xarray import DataTree

from support.reference_formulas import rao_kupper_probabilities
from support.tiny_fits import MAP, counts
from tiewise.criticism import log_likelihood
from tiewise.criticism.leave_one_out import leave_one_out
from tiewise.criticism.log_likelihood import with_log_likelihood
from tiewise.engines.transport import Transport
from tiewise.errors import InputError
from tiewise.model.bradley_terry import BradleyTerry
from tiewise.model.map_priors import Network
from tiewise.posterior.fit import fit


@pytest.fixture(scope="module")
def plain() -> DataTree:
    return fit(BradleyTerry(counts(), Network(MAP)), Transport(draws=1600, chains=8), rng=1)


@pytest.fixture(scope="module")
def graded() -> DataTree:
    return fit(BradleyTerry(counts(cuts=(0.3, 1.0))), Transport(draws=800, chains=8), rng=1)


def test_each_answer_has_the_log_probability_of_the_formula(plain):
    values = with_log_likelihood(plain)["log_likelihood/answer"]
    quality, tie = (plain[f"posterior/{name}"].to_numpy()[0, 0] for name in ("quality", "tie"))
    observed, written = plain["observed_data"], []
    for row in range(observed.sizes["pair"]):
        one, two = (quality[int(observed[side][row])] for side in ("first", "second"))
        probability = rao_kupper_probabilities(one, two, tie)
        for answer, column in (("first", "wins_first"), ("tie", "ties"), ("second", "wins_second")):
            written += [np.log(probability[answer])] * int(observed[column][row])
    np.testing.assert_allclose(np.sort(values[0, 0]), np.sort(written), atol=1e-10)


@pytest.mark.parametrize("name", ["plain", "graded"])
def test_the_judgements_add_up_to_the_total_of_the_model(name, request):
    tree = request.getfixturevalue(name)
    total = with_log_likelihood(tree)["log_likelihood/answer"].sum("judgement")
    np.testing.assert_allclose(total, tree["log_likelihood/judgements"], rtol=1e-8)


@pytest.mark.parametrize("name", ["plain", "graded"])
def test_arviz_leaves_one_out_as_we_do(name, request):
    """The same importance sampling by another program, over all draws."""
    tree = request.getfixturevalue(name)
    theirs, ours = loo(with_log_likelihood(tree), reff=1.0, pointwise=True), leave_one_out(tree)
    assert theirs.n_data_points == ours.n_data_points
    # Ours smooths no weights that are all within a factor of three of each other.
    np.testing.assert_allclose(theirs.elpd_i, ours.elpd_i, atol=0.02)
    assert theirs.elpd == pytest.approx(ours.elpd, abs=0.1)


def test_the_sensitivity_to_the_prior_is_what_it_was(plain):
    before = psense_summary(plain, var_names=["tie", "variance"], round_to=4)
    after = psense_summary(with_log_likelihood(plain), var_names=["tie", "variance"], round_to=4)
    assert before.equals(after)


def test_the_tree_that_was_given_stays_as_it_is(plain):
    with_log_likelihood(plain)
    assert list(plain["log_likelihood"].data_vars) == ["judgements"]


def test_of_many_judgements_fewer_draws_are_used(plain, monkeypatch):
    monkeypatch.setattr(log_likelihood, "MOST_NUMBERS", 30 * 500)
    tree = with_log_likelihood(plain)
    group, posterior = tree["log_likelihood"], tree["posterior"]
    assert group.sizes["chain"] * group.sizes["draw"] == 8 * (500 // 8)
    whole = with_log_likelihood
    monkeypatch.undo()
    same = whole(plain)["log_likelihood/answer"].sel(draw=group["draw"])
    np.testing.assert_array_equal(group["answer"], same)
    assert set(group["draw"].to_numpy()) <= set(posterior["draw"].to_numpy())


def test_too_many_judgements_are_refused_with_the_way_out(plain, monkeypatch):
    monkeypatch.setattr(log_likelihood, "MOST_NUMBERS", 30 * 399)
    with pytest.raises(InputError, match=r"leave_one_out\(tree\)"):
        with_log_likelihood(plain)


def test_every_variable_has_its_unit(plain):
    for node in with_log_likelihood(plain).subtree:
        for name, variable in node.data_vars.items():
            assert {"long_name", "units", "description"} <= set(variable.attrs), name


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_arviz_plots_draws_the_tree(plain):
    import matplotlib as mpl

    mpl.use("agg")
    import matplotlib.style.core  # arviz-plots 0.8 expects Matplotlib to have imported it

    plots = pytest.importorskip("arviz_plots")
    tree = with_log_likelihood(plain)
    for draw in (plots.plot_forest, plots.plot_dist, plots.plot_ess):
        assert draw(tree, var_names=["quality", "tie"], backend="matplotlib").viz
        mpl.pyplot.close("all")
    assert plots.plot_khat(loo(tree, pointwise=True), backend="matplotlib").viz
