"""Histograms of the two scalars, the tie threshold δ and the variance α², beside their priors."""

from __future__ import annotations

from collections.abc import Mapping
from math import lgamma, log, pi
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tiewise.errors import InputError
from tiewise.model.scalar_priors import (
    TIE_PRIORS,
    VARIANCE_PRIORS,
    Exponential,
    Fixed,
    Gamma,
    HalfNormal,
    HalfNormalSpread,
    InverseGamma,
    TiePrior,
    Uniform,
    VariancePrior,
    spoken,
)  # fmt: skip
from tiewise.plots.canvas import (
    INK,
    LOW,
    SMALL,
    Block,
    Margins,
    heading,
    notes,
    page,
    plot,
    spoken_or,
    styled,
)  # fmt: skip

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from tiewise.report.folder import Results

Floats = NDArray[np.float64]

BEFORE = "#a04a00"
BARS = 40


class Scalar(NamedTuple):
    """The tie threshold or the variance: its draws, and what was believed of it before."""

    words: str
    symbol: str
    draws: Floats
    prior: VariancePrior | TiePrior | Fixed | None
    said: str

    @property
    def free(self) -> bool:
        """Whether there is a spread of draws to show."""
        return self.draws.size > 1 and bool(np.ptp(self.draws) > 0)

    @property
    def known(self) -> bool:
        """Whether there is a prior that can be drawn."""
        return self.prior is not None and not isinstance(self.prior, Fixed)


def scalars(results: Results) -> tuple[Scalar, Scalar]:
    """The tie threshold and the variance of these results."""
    model, posterior = results.facts["model"], results.tree["posterior"]
    tie, variance = (posterior[name].to_numpy().ravel() for name in ("tie", "variance"))
    return (
        Scalar("tie threshold", "δ", tie, _prior(model, "tie"), model.get("tie", "")),
        Scalar("variance of quality", "α²", variance, _prior(model, "variance"),
               model.get("variance", "")),
    )  # fmt: skip


def _prior(model: Mapping[str, str], name: str) -> VariancePrior | TiePrior | Fixed | None:
    try:
        if name == "tie":
            return spoken(model.get("tie", ""), TIE_PRIORS)
        return spoken(model.get("variance", ""), VARIANCE_PRIORS)
    except InputError:  # a prior of the user's own, or an engine's
        return None


@styled
def parameter_plot(results: Results, *, title: str | None = None) -> Figure:
    """Histograms of the tie threshold δ and the variance α², with their priors."""
    told = scalars(results)
    free = [scalar for scalar in told if scalar.free]
    if not free:
        raise InputError("neither δ nor α² has a spread of draws here, so there is no histogram")
    return page(
        heading(
            title or "Ties and spread, before and after",
            spoken_or(results.about.question, ""),
        ),
        *(_histogram(scalar) for scalar in free),
        notes(
            *(_held(scalar) for scalar in told if not scalar.free),
            "Bars: after the judgements (posterior). Dashed: before them (prior); where that is "
            "flat and low, the judgements alone have spoken."
            if any(scalar.known for scalar in free)
            else "Bars: after the judgements (posterior).",
            "δ: the larger, the sooner judges say “about equal”."
            if free[0].symbol == "δ" else "",
            "α²: the larger, the further apart the qualities lie."
            if free[-1].symbol == "α²" else "",
        ),
    )  # fmt: skip


def _histogram(scalar: Scalar) -> Block:
    low, high = np.quantile(scalar.draws, (0.001, 0.99))
    room = 0.15 * (high - low)
    start, stop = max(float(low - room), 0.0), float(high + room)
    bars, edges = np.histogram(scalar.draws, BARS, (start, stop), density=True)
    ends = np.quantile(scalar.draws, (0.5, 0.025, 0.975))

    def paint(axes: Axes) -> None:
        axes.stairs(bars, edges, fill=True, color=LOW, alpha=0.55)
        _draw_prior(axes, scalar, np.linspace(start, stop, 201))
        axes.axvline(ends[0], ymax=0.97, color=INK, linewidth=1)
        axes.set(xlim=(start, stop), ylim=(0, 1.25 * bars.max()), yticks=[])
        axes.spines["left"].set_visible(False)
        axes.set_title(
            "{}: median {:.2f}, 95 % interval {:.2f} to {:.2f}".format(scalar.symbol, *ends)
        )
        axes.set_xlabel(f"{scalar.words} {scalar.symbol}")

    return plot(150, paint, Margins(left=4, bottom=38, top=20))


def _draw_prior(axes: Axes, scalar: Scalar, where: Floats) -> None:
    before = f"before: {scalar.said}" if scalar.said else "before: this engine’s own prior"
    if scalar.prior is not None and not isinstance(scalar.prior, Fixed):
        density = prior_density(scalar.prior, where)
        axes.plot(where, density, color=BEFORE, linewidth=2, linestyle=(0, (4, 2)), zorder=4)
    axes.text(0.995, 0.98, before, transform=axes.transAxes, ha="right", va="top", size=SMALL,
              color=BEFORE)  # fmt: skip


def _held(scalar: Scalar) -> str:
    """What to say of a scalar that was not inferred."""
    what = f"{scalar.words[0].upper()}{scalar.words[1:]} {scalar.symbol}"
    if np.isnan(scalar.draws).all():
        return f"{what}: not a parameter of this engine."
    if scalar.said == "no ties":
        return f"{what}: this model has no ties."
    return f"{what}: held at {scalar.draws[0]:g}, not inferred."


def prior_density(prior: VariancePrior | TiePrior, where: Floats) -> Floats:
    """The density of α² or of δ before the judgements, with area 1."""
    constant = _log_constant(prior)
    with np.errstate(divide="ignore", invalid="ignore"):
        if isinstance(prior, TiePrior):
            inside = (where >= prior.low) & (where <= prior.high)
            return np.where(inside, np.exp(prior.log_density(where) + constant), 0.0)
        # Priors of α² speak of log α; a step of it is half a step of log α².
        density = np.exp(prior.log_density(np.log(where) / 2) + constant) / (2 * where)
        return np.where(where > 0, density, 0.0)


def _log_constant(prior: VariancePrior | TiePrior) -> float:
    """What turns the log density of a prior, known up to a constant, into one of area 1."""
    match prior:
        case InverseGamma(shape, scale):
            return log(2) + shape * log(scale) - lgamma(shape)
        case HalfNormalSpread(scale) | HalfNormal(scale):
            return log(2 / pi) / 2 - log(scale)
        case Exponential(rate):
            return log(rate)
        case Gamma(shape, rate):
            return shape * log(rate) - lgamma(shape)
        case Uniform(low, high):
            return -log(high - low)
    raise InputError(f"no density is known of {prior!r}")
