"""The scale from 0 to 100: the percentage of the other items that an item would be chosen over."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from xarray import DataTree

from tiewise.posterior.scales.scale import QualityDraws, Scale, Transformation

Floats = NDArray[np.float64]

STEP = 1 / 32  # logits between the points of a curve, unless there were too many
MOST_POINTS = 4096
BATCH = 128  # draws processed together
MARGIN = 8.0  # logits: beyond, everybody or nobody is chosen over
EVEN = 0.5


def percentages(draws: QualityDraws) -> Transformation:
    """The transformation to scores: the mean probability to be chosen over each other item.

    A tie counts as half, so that all scores have a mean of 50 in every draw. Of each draw the
    probability against the items of that draw is worked out on a grid of qualities, by Fourier
    transform, and interpolated.
    """
    flat, ties = draws.quality.reshape(-1, draws.quality.shape[-1]), draws.tie.ravel()
    origin, step, points = _grid(flat)
    curves = np.concatenate(
        [
            _curves((flat[k : k + BATCH] - origin) / step, ties[k : k + BATCH], step, points)
            for k in range(0, len(flat), BATCH)
        ]
    )
    size = flat.shape[1]

    def transform(some: Floats) -> Floats:
        place = ((some.reshape(len(curves), -1) - origin) / step).clip(0, points - 1.001)
        whole = place.astype(np.int64)
        left = np.take_along_axis(curves, whole, axis=1)
        right = np.take_along_axis(curves, whole + 1, axis=1)
        against_all = left + (place - whole) * (right - left)
        # Without the item itself, which it would be chosen over as often as not: at its own
        # quality. The ends of a point estimate's interval lie elsewhere.
        away = len(flat) == 1 and some.size == size
        itself = _chosen(some.reshape(1, -1) - flat, ties[:, None]) if away else EVEN
        others: Floats = 100 * (size * against_all - itself) / (size - 1)
        return others.clip(0, 100).reshape(some.shape)

    return transform


def _grid(flat: Floats) -> tuple[float, float, int]:
    """Where a grid over all qualities begins, its step, and its number of points."""
    # The interval of a point estimate reaches beyond the only draw there is.
    margin = MARGIN if len(flat) == 1 else 0.0
    low, high = float(flat.min()) - margin, float(flat.max()) + margin
    needed = int(np.ceil((high - low) / STEP)) + 2
    points = min(1 << max(needed - 1, 1).bit_length(), MOST_POINTS)
    return low, max(STEP, (high - low) / (points - 2)), points


def _curves(place: Floats, ties: Floats, step: float, points: int) -> Floats:
    """For each draw the mean probability to be chosen over its items, on the grid."""
    draws, items = place.shape
    whole = place.astype(np.int64)
    share = place - whole
    row = points * np.arange(draws)[:, None]
    density = np.bincount((row + whole).ravel(), (1 - share).ravel(), draws * points)
    density += np.bincount((row + whole + 1).ravel(), share.ravel(), draws * points)
    gaps = step * np.arange(-points, points, dtype=np.float64)
    kernel = _chosen(gaps, ties[:, None])
    spectrum = np.fft.rfft(density.reshape(draws, points) / items, 2 * points, axis=1)
    curve = np.fft.irfft(spectrum * np.fft.rfft(kernel, axis=1), 2 * points, axis=1)
    out: Floats = curve[:, points:]
    return out


def _chosen(gap: Floats, tie: Floats) -> Floats:
    """Probability to be chosen at this difference of quality, half of that of a tie included."""
    # Half of 1 + σ(g − δ) − σ(−g − δ), written with tanh, which does not overflow.
    return EVEN + (np.tanh((gap - tie) / 2) + np.tanh((gap + tie) / 2)) / 4


def _meaning(tree: DataTree, one: str, nouns: str) -> list[str]:
    ties = np.nan_to_num(tree["posterior/tie"].to_numpy())
    half = " (a tie counts as half)" if ties.max() > 0 else ""
    return [
        f"Estimates run from 0 to 100: the percentage of the other {nouns} that the {one} would be "
        f"chosen over{half}. All {nouns} together have a mean of 50, and the percentage depends on "
        f"which {nouns} are in the study."
    ]


PERCENTAGE = Scale(
    "0-100", "Score", "score from 0 to 100, 50 the mean", _meaning,
    middle=50.0, limits=(0.0, 100.0), is_probability=True, transformation=percentages,
)  # fmt: skip
