"""What priors say of a study before a single answer: the table of docs/priors.md.

`python -m benchmarks.prior_predictive` prints it; `--write` puts it on the page.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tiewise.model.prior_sets import DEFAULT_TIE, DEFAULT_VARIANCE, PAPER_TIE, PAPER_VARIANCE
from tiewise.model.scalar_priors.base import TiePrior, VariancePrior
from tiewise.model.scalar_priors.exponential import Exponential
from tiewise.model.scalar_priors.half_normal import HalfNormal
from tiewise.model.scalar_priors.half_normal_spread import HalfNormalSpread
from tiewise.model.scalar_priors.inverse_gamma import InverseGamma
from tiewise.model.scalar_priors.notation import format_prior, prior_to_dict

Floats = NDArray[np.float64]

PAGE = Path(__file__).parents[1] / "docs" / "priors.md"
BEGIN, END = "<!-- benchmarks.prior_predictive -->\n", "<!-- end -->"
SEED, STUDIES, ITEMS, PAIRS = 1, 2000, 50, 400
QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
LARGEST = 1e100
"""Variances above it, of which the paper's prior has many, are taken to be this."""
PRIORS: dict[str, tuple[VariancePrior, TiePrior]] = {
    "default": (DEFAULT_VARIANCE, DEFAULT_TIE),
    "paper": (PAPER_VARIANCE, PAPER_TIE),
    "narrower": (HalfNormalSpread(1.0), HalfNormal(0.5)),
    "wider": (HalfNormalSpread(5.0), HalfNormal(2.5)),
    "inverse gamma": (InverseGamma(3, 2), Exponential(2.0)),
}


class Predicted(NamedTuple):
    """What a prior predicts of a study: shares, one for each simulated study."""

    ties: Floats
    better: Floats
    top: Floats


ROWS = {
    "ties": "pairs at random that are called equal",
    "better": "of the others, those where the better is chosen",
    "top": "the highest of 50 items, chosen over the fifth",
}


def predict(variance: VariancePrior, tie: TiePrior, rng: np.random.Generator) -> Predicted:
    """Studies of independent items, drawn from the prior."""
    shares = []
    for _ in range(STUDIES):
        alpha = np.sqrt(min(variance.sample(rng), LARGEST))
        threshold, quality = tie.sample(rng), alpha * rng.normal(size=ITEMS)
        first = rng.integers(ITEMS, size=PAIRS)
        second = (first + rng.integers(1, ITEMS, size=PAIRS)) % ITEMS
        better, worse, tied = _answers(np.abs(quality[first] - quality[second]), threshold)
        highest = np.sort(quality)[::-1]
        ahead, behind, _ = _answers(highest[:1] - highest[4], threshold)
        shares.append(
            (tied.mean(), (better / (better + worse)).mean(), (ahead / (ahead + behind))[0])
        )
    return Predicted(*np.array(shares).T)


def _answers(gap: Floats, threshold: float) -> tuple[Floats, Floats, Floats]:
    """Probabilities that the better and the worse are chosen, but for a factor, and of a tie."""
    # Both over the larger of them, so that neither vanishes however wide the threshold is.
    worse = np.exp(-np.logaddexp(0, threshold + gap) + np.logaddexp(0, threshold - gap))
    tied = -np.expm1(-2 * threshold) * np.exp(
        -np.logaddexp(0, gap - threshold) - np.logaddexp(0, -gap - threshold)
    )
    return np.ones_like(gap), worse, tied


def table() -> str:
    """The table: quantiles over simulated studies, for each prior."""
    lines = [
        "| priors | share of | " + " | ".join(f"{100 * q:.0f} %" for q in QUANTILES) + " |",
        "|---|---|" + "---|" * len(QUANTILES),
    ]
    for name, (variance, tie) in PRIORS.items():
        predicted = predict(variance, tie, np.random.default_rng(SEED))
        texts = [format_prior(prior_to_dict(prior)) for prior in (variance, tie)]
        of = "α²" if isinstance(variance, InverseGamma) else "α"
        label = f"{name}: {of} {texts[0]}, δ {texts[1]}"
        for row, values in zip(ROWS.values(), predicted, strict=True):
            cells = [f"{100 * value:.0f}" for value in np.quantile(values, QUANTILES)]
            lines.append(f"| {label} | {row} | {' | '.join(cells)} |")
            label = ""
    return "\n".join(lines) + "\n"


def main() -> None:
    """Print the table, or write it on the page."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--write", action="store_true")
    block = table()
    print(block, end="")
    if parser.parse_args().write:
        before, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
        _, _, after = rest.partition(END)
        PAGE.write_text(before + BEGIN + block + END + after, encoding="utf-8")


if __name__ == "__main__":
    main()
