"""The fault that ruins the published sampler: recentring qualities inside the loop.

The paper's synthetic design: a Wishart covariance with as many degrees of freedom as items,
normalised to unit variances; qualities drawn from it with α² = 1; ten judgements an item; δ = 0.5;
the paper's priors.
"""

from __future__ import annotations

import numpy as np
import pytest
from numpy.random import Generator, SeedSequence
from scipy import stats

from support.everyday import thorough
from support.prior_sets import PAPER
from support.reference_formulas import LEVEL, assert_normal_scores
from tiewise.engines.gibbs import Gibbs, _Sampler, _State
from tiewise.model.bradley_terry import BradleyTerry
from tiewise.model.quality_priors import Covariance
from tiewise.model.scalar_priors.fixed import Fixed
from tiewise.model.simulate import Truth, simulate_counts
from tiewise.progress import no_progress

SHARE = 0.8


def synthetic_study(size: int, rng: Generator) -> BradleyTerry:
    items = tuple(str(k) for k in range(size))
    prior = Covariance(stats.wishart(size, np.eye(size)).rvs(random_state=rng), items, rescale=True)
    truth = Truth.from_priors(prior, Fixed(1.0), Fixed(0.5), rng)
    return BradleyTerry(simulate_counts(truth, 10 * size, rng), prior, **PAPER)


def studies(size: int, number: int) -> list[BradleyTerry]:
    return [synthetic_study(size, rng) for rng in np.random.default_rng(2).spawn(number)]


def log_variances(model: BradleyTerry, sweeps: int) -> np.ndarray:
    engine = Gibbs(draws=sweeps, warmup=sweeps // 4, chains=2)
    return np.log(engine.run(model, SeedSequence(2), no_progress).variance.ravel())


def recentred_log_variances(model: BradleyTerry, sweeps: int) -> np.ndarray:
    """The loop of the R package: the paper's updates, with λ moved to mean zero before α²."""
    rng = np.random.default_rng(2)
    sampler = _Sampler.of(model, as_published=True)
    state, values = sampler.start, []
    for _ in range(sweeps):
        quality = sampler._draw_quality(state, rng)
        state = _State(quality - quality.mean(), state.tie, state.variance)
        state = _State(state.quality, sampler._random_walk_tie(state, rng), state.variance)
        state = _State(state.quality, state.tie, sampler._draw_variance(state, rng))
        values.append(np.log(state.variance))
    return np.array(values[sweeps // 4 :])


def assert_calibrated(posteriors: list[np.ndarray]) -> None:
    """log α² = 0 is the truth: in its interval as often as promised, and no bias over studies."""
    ends = (1 - SHARE) / 2, (1 + SHARE) / 2
    inside = sum(low < 0 < high for low, high in (np.quantile(p, ends) for p in posteriors))
    promised = stats.binom(len(posteriors), SHARE)
    assert promised.cdf(inside) > LEVEL / 2
    assert_normal_scores(np.array([bias(posteriors)]))


def bias(posteriors: list[np.ndarray]) -> float:
    """Where the truth lies in the posteriors, as one standard normal score."""
    scores = [p.mean() / p.std() for p in posteriors]
    return float(np.sum(scores) / np.sqrt(len(scores)))


def medians(posteriors: list[np.ndarray]) -> np.ndarray:
    return np.array([np.median(posterior) for posterior in posteriors])


@pytest.mark.slow
@pytest.mark.parametrize("size", thorough([64, 256], 256))
def test_variance_stays_calibrated_unless_qualities_are_recentred(size):
    """The same studies and updates; only the recentring differs, and it is detected."""
    ours = [log_variances(model, 400) for model in studies(size, 8)]
    assert_calibrated(ours)
    ruined = [recentred_log_variances(model, 800) for model in studies(size, 8)]
    assert (medians(ruined) > medians(ours)).all()
    # How far it is driven up hangs on 1ᵀΣ⁻¹1, which varies a lot between Wishart draws.
    assert np.exp(medians(ruined).max()) > 10 > np.exp(medians(ours).max())
    with pytest.raises(AssertionError, match="largest"):
        assert_normal_scores(np.array([bias(ruined)]))
