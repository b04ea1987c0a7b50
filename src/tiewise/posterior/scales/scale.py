"""A scale on which quality is reported: how qualities become scores, and how they read."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from xarray import DataTree

from tiewise.errors import InputError
from tiewise.posterior.scales import DEFAULT_SCALE, SCALES
from tiewise.registry import load
from tiewise.text import UNKNOWN, signed, some_names, true_minus

Floats = NDArray[np.float64]

Transformation = Callable[[Floats], Floats]
"""Centred qualities of some items (chains, draws, items) to their scores, draw by draw."""
NORMAL_975 = 1.959963984540054
ENDS = (0.025, 0.975)
MIDDLE_AND_ENDS = ("mean", "q2.5", "q97.5")
BATCH = 256  # items processed together
COLUMNS = ("score", "score_sd", "score_q2.5", "score_q97.5")


class QualityDraws(NamedTuple):
    """Draws of centred quality (chains, draws, items) and of the threshold (chains, draws)."""

    quality: Floats
    tie: Floats
    anchor_level: Floats | None = None
    """What has to be added to get to the level of anchors; None without any."""
    anchor_slope: Floats | None = None
    """Units of the anchors that a logit is; None where these are logits."""

    def parts(self) -> Iterator[Floats]:
        """Qualities of some items at a time: a copy of every draw of a thousand items is large."""
        for k in range(0, self.quality.shape[-1], BATCH):
            yield self.quality[..., k : k + BATCH]


def quality_draws(tree: DataTree) -> QualityDraws:
    """The draws of a fit; of very many items those that are kept."""
    posterior = tree["posterior"]
    quality = posterior["quality"].to_numpy()
    if "level" not in posterior:  # results of an earlier version
        quality = quality - quality.mean(axis=-1, keepdims=True)
    # An engine without ties has no threshold.
    tie = np.nan_to_num(posterior["tie"].to_numpy())
    level, slope = (
        posterior[name].to_numpy() if name in posterior else None
        for name in ("anchor_level", "anchor_slope")
    )
    return QualityDraws(quality, tie, level, slope)


class Line(NamedTuple):
    """Scores as a straight line of centred quality, the same in every draw."""

    origin: float
    slope: float


@dataclass(frozen=True)
class Scale:
    """A scale on which quality is reported.

    Scores are a `line` of quality, or each draw has a `transformation` of its own.
    """

    name: str
    title: str
    """What a score is called at the head of a column."""
    axis: str
    """The label of an axis of scores."""
    meaning: Callable[[DataTree, str, str], list[str]]
    """What scores mean, in sentences, for items that are called `one` and `nouns`."""
    middle: float | None = 0.0
    """The score in the middle of plots; None stands for the mean of all items."""
    digits: int = 0
    is_signed: bool = False
    limits: tuple[float, float] | None = None
    """The least and the greatest score that there can be."""
    is_probability: bool = False
    """Whether scores say how judges answer, which depends on how sharp they are."""
    line: Line | None = None
    transformation: Callable[[QualityDraws], Transformation] | None = None

    @property
    def called(self) -> str:
        """What a score is called within a sentence."""
        return self.axis.partition(",")[0]

    def gap_text(self, logits: float) -> str:
        """A difference in quality: on this scale, where a logit is the same everywhere on it."""
        if self.name == DEFAULT_SCALE:
            return f"{logits:.1f} in quality"
        if self.line is None:
            return f"{logits:.1f} logits"
        return f"{self.spread_text(self.line.slope * logits)} in {self.called}"

    def text(self, score: float) -> str:
        """A score as readers see it."""
        if np.isnan(score):
            return UNKNOWN
        if self.is_signed:
            return signed(score, self.digits)
        return true_minus(f"{score:.{self.digits}f}")

    def plain_text(self, score: float) -> str:
        """A score in plain characters, for terminals."""
        return f"{score:{'+' if self.is_signed else ''}.{self.digits}f}"

    def spread_text(self, sd: float) -> str:
        """A standard deviation or a width on this scale."""
        return UNKNOWN if np.isnan(sd) else f"{sd:.{self.digits}f}"

    def ends(self, middle: float, reach: float, form: str = ".1f") -> tuple[str, str, str]:
        """Labels of a legend that reaches so far to both sides of the middle."""
        if self.is_signed:
            return f"−{reach:{form}}", "0", f"+{reach:{form}}"
        return self.text(middle - reach), self.text(middle), self.text(middle + reach)

    def interval(self, low: float, high: float) -> str:
        """Both ends of an interval."""
        return f"{self.text(low)} to {self.text(high)}"


def scale_named(name: str) -> Scale:
    """The scale that the registry has under this name."""
    if name not in SCALES:
        raise InputError(
            f"scale= is {name!r}, which is no scale; give one of {some_names([*SCALES])}"
        )
    scale: Scale = load(SCALES[name])
    return scale


def digits_for(spread: float) -> int:
    """Digits behind the point of numbers whose standard deviation this is: two for about 1."""
    return int(np.clip(2 - np.round(np.log10(spread)), 0, 6)) if spread > 0 else 2


def fitted_scale(scale: Scale, tree: DataTree, scores: Floats) -> tuple[Scale, float]:
    """The scale with as many digits as these scores need, and the score in its middle."""
    if scale.name == "anchored" and "anchor_slope" in tree["posterior"]:
        scale = replace(scale, digits=digits_for(float(np.nanstd(scores))))
    return scale, float(np.nanmean(scores)) if scale.middle is None else scale.middle


def scored(scale: Scale) -> bool:
    """Whether tables have columns of scores: on the default scale a score is the quality."""
    return scale.name != DEFAULT_SCALE


def score_columns(
    scale: Scale, draws: QualityDraws, quality: Mapping[str, Floats], *, is_point: bool
) -> dict[str, Floats]:
    """Mean, standard deviation and 95 % interval of scores, item by item.

    `quality` has the columns `mean`, `sd`, `q2.5` and `q97.5` of the quality in these draws.
    """
    if scale.line is not None:
        return _line_columns(scale.line, quality)
    assert scale.transformation is not None
    transform = scale.transformation(draws)
    if is_point:
        return _point_columns(transform, quality)
    each = [_draw_columns(transform(part)) for part in draws.parts()]
    return {name: np.concatenate([part[name] for part in each]) for name in COLUMNS}


def scores(scale: Scale, draws: QualityDraws) -> Floats:
    """The score of every item in every draw (chains, draws, items)."""
    if scale.line is not None:
        line: Floats = scale.line.origin + scale.line.slope * draws.quality
        return line
    assert scale.transformation is not None
    return scale.transformation(draws)(draws.quality)


def _line_columns(line: Line, quality: Mapping[str, Floats]) -> dict[str, Floats]:
    mean, low, high = (line.origin + line.slope * quality[name] for name in MIDDLE_AND_ENDS)
    return dict(zip(COLUMNS, (mean, line.slope * quality["sd"], low, high), strict=True))


def _point_columns(transform: Transformation, quality: Mapping[str, Floats]) -> dict[str, Floats]:
    """Scores of a point estimate, and of the ends of its interval."""
    middle, low, high = (transform(quality[name][None, None])[0, 0] for name in MIDDLE_AND_ENDS)
    sd = (high - low) / (2 * NORMAL_975)
    return dict(zip(COLUMNS, (middle, sd, low, high), strict=True))


def _draw_columns(scores: Floats) -> dict[str, Floats]:
    low, high = np.quantile(scores, ENDS, axis=(0, 1))
    mean, sd = scores.mean(axis=(0, 1)), scores.std(axis=(0, 1), ddof=1)
    return dict(zip(COLUMNS, (mean, sd, low, high), strict=True))
