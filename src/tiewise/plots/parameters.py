"""Histograms of the tie threshold δ and the variance α², beside their priors."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tiewise.errors import InputError
from tiewise.geo.colours import INK, LOW, PRIOR
from tiewise.model.scalar_priors import TIE_PRIORS, VARIANCE_PRIORS
from tiewise.model.scalar_priors.base import TiePrior, VariancePrior
from tiewise.model.scalar_priors.fixed import Fixed
from tiewise.model.scalar_priors.kinds import ScalarPrior
from tiewise.model.scalar_priors.notation import format_prior, prior_from_dict
from tiewise.plots.canvas import (
    SMALL,
    Block,
    Margins,
    heading,
    notes,
    page,
    panel,
    styled,
    text_or,
)  # fmt: skip
from tiewise.plots.definition import PlotDefinition
from tiewise.text import capital

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from tiewise.posterior.results_folder import Results

Floats = NDArray[np.float64]

BARS = 40
NO_TIES = "no ties"


class ScalarParameter(NamedTuple):
    """The tie threshold or the variance: its draws, its prior, and that prior in words."""

    words: str
    symbol: str
    draws: Floats
    prior: VariancePrior | TiePrior | Fixed | None
    prior_words: str

    @property
    def free(self) -> bool:
        """Whether there is a spread of draws to show."""
        return self.draws.size > 1 and bool(np.ptp(self.draws) > 0)

    @property
    def has_density(self) -> bool:
        """Whether there is a prior that can be drawn."""
        return self.prior is not None and not isinstance(self.prior, Fixed)


def scalar_parameters(results: Results) -> tuple[ScalarParameter, ScalarParameter]:
    """The tie threshold and the variance of these results."""
    model, posterior = results.facts["model"], results.tree["posterior"]
    tie, variance = (posterior[name].to_numpy().ravel() for name in ("tie", "variance"))
    return (
        ScalarParameter("tie threshold", "δ", tie, *_prior(model, "tie", TIE_PRIORS)),
        ScalarParameter(
            "variance of quality", "α²", variance, *_prior(model, "variance", VARIANCE_PRIORS)
        ),
    )


def _prior(
    model: Mapping[str, Any], name: str, kinds: Mapping[str, str]
) -> tuple[ScalarPrior | None, str]:
    """The prior of a scalar, and its text: of one made in Python only text, of an engine's none."""
    if name not in model:
        return None, ""
    facts = model[name]
    if facts is None:
        return None, NO_TIES
    prior = prior_from_dict(facts, kinds) if facts["kind"] in kinds else None
    return prior, format_prior(facts)


@styled
def parameter_plot(results: Results, *, title: str | None = None) -> Figure:
    """Histograms of the tie threshold δ and the variance α², with their priors."""
    scalars = scalar_parameters(results)
    free = [scalar for scalar in scalars if scalar.free]
    if not free:
        raise InputError("neither δ nor α² has a spread of draws here, so there is no histogram")
    return page(
        heading(
            title or "Ties and spread, before and after",
            text_or(results.wording.question, ""),
        ),
        *(_histogram(scalar) for scalar in free),
        notes(
            *(_fixed_note(scalar) for scalar in scalars if not scalar.free),
            "Bars: after the judgements (posterior). Dashed: before them (prior); where that is "
            "flat and low, the judgements alone have spoken."
            if any(scalar.has_density for scalar in free)
            else "Bars: after the judgements (posterior).",
            "δ: the larger, the sooner judges say “about equal”."
            if free[0].symbol == "δ" else "",
            "α²: the larger, the further apart the qualities lie."
            if free[-1].symbol == "α²" else "",
        ),
    )  # fmt: skip


def _caption(results: Results) -> str:
    free = [scalar for scalar in scalar_parameters(results) if scalar.free]
    parts = []
    for scalar in free:
        middle, low, high = np.quantile(scalar.draws, (0.5, 0.025, 0.975))
        before = f", {scalar.prior_words} before the judgements" if scalar.prior_words else ""
        parts.append(
            f"{scalar.words} {scalar.symbol}, median {middle:.2f} "
            f"(95 % interval {low:.2f} to {high:.2f}){before}"
        )
    dashed = any(scalar.has_density for scalar in free)
    prior = ", with the prior as a dashed line" if dashed else ""
    return f"Histograms of the draws{prior}: {'; '.join(parts)}."


PARAMETERS = PlotDefinition(
    "parameters", "Ties and spread", parameter_plot, _caption,
    lambda results: any(scalar.free for scalar in scalar_parameters(results)),
)  # fmt: skip


def _histogram(scalar: ScalarParameter) -> Block:
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

    return panel(150, paint, Margins(left=4, bottom=38, top=20))


def _draw_prior(axes: Axes, scalar: ScalarParameter, grid: Floats) -> None:
    before = (
        f"before: {scalar.prior_words}" if scalar.prior_words else "before: this engine’s own prior"
    )
    if scalar.prior is not None and not isinstance(scalar.prior, Fixed):
        density = prior_density(scalar.prior, grid)
        axes.plot(grid, density, color=PRIOR, linewidth=2, linestyle=(0, (4, 2)), zorder=4)
    axes.text(0.995, 0.98, before, transform=axes.transAxes, ha="right", va="top", size=SMALL,
              color=PRIOR)  # fmt: skip


def _fixed_note(scalar: ScalarParameter) -> str:
    """A note on a scalar that was not inferred."""
    what = f"{capital(scalar.words)} {scalar.symbol}"
    if np.isnan(scalar.draws).all():
        return f"{what}: not a parameter of this engine."
    if scalar.prior_words == NO_TIES:
        return f"{what}: this model has no ties."
    return f"{what}: held at {scalar.draws[0]:g}, not inferred."


def prior_density(prior: VariancePrior | TiePrior, where: Floats) -> Floats:
    """The density of α² or of δ before the judgements, with area 1."""
    constant = prior.log_normaliser
    if constant is None:
        raise InputError(f"no density is known of {prior!r}")
    with np.errstate(divide="ignore", invalid="ignore"):
        if isinstance(prior, TiePrior):
            inside = (where >= prior.low) & (where <= prior.high)
            return np.where(inside, np.exp(prior.log_density(where) + constant), 0.0)
        # Priors of α² speak of log α; a step of it is half a step of log α².
        density = np.exp(prior.log_density(np.log(where) / 2) + constant) / (2 * where)
        return np.where(where > 0, density, 0.0)
