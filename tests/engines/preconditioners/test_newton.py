"""Modes conditional on α, against differences."""

from __future__ import annotations

import numpy as np
import pytest

from support.plain_models import NAMES, model_of
from support.reference_formulas import DIFFERENCE, derivative
from tiewise.engines.preconditioners.newton import TOLERANCE, ConditionalPosterior

every_model = pytest.mark.parametrize("names", NAMES)


@every_model
@pytest.mark.parametrize("log_alpha", [-2.0, 0.0, 2.0])
def test_the_gradient_is_zero_at_the_mode(names, log_alpha):
    """By differences of `log_density`: another Newton step would gain nothing."""
    posterior = ConditionalPosterior(model_of(names))
    mode = posterior.mode(log_alpha)
    gradient = derivative(lambda p: posterior.log_density(p, log_alpha), mode.point)
    matrix = posterior.negative_hessian(mode.point, log_alpha)
    assert gradient @ np.linalg.solve(matrix, gradient) < TOLERANCE


@every_model
def test_gradient_and_hessian_are_derivatives_of_the_log_density(names):
    posterior = ConditionalPosterior(model_of(names))
    point = posterior.start() + np.random.default_rng(2).normal(0, 0.5, len(posterior.start()))
    gradient, matrix = posterior.gradient(point, 0.3), posterior.negative_hessian(point, 0.3)
    # The prior's precision scales what a difference of the density can resolve.
    scale = 10 * (1.0 if posterior.precision is None else np.abs(posterior.precision).max())
    differences = derivative(lambda p: posterior.log_density(p, 0.3), point)
    assert np.allclose(gradient, differences, rtol=0, atol=DIFFERENCE * scale)
    hessian = -derivative(lambda p: posterior.gradient(p, 0.3), point)
    assert np.allclose(matrix, hessian, rtol=0, atol=DIFFERENCE * scale)
