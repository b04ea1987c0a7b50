"""Anchors: items whose quality was measured elsewhere, as Gaussian observations of differences.

An anchor's value is its quality plus a level that all share, plus an error. The level is free: with
a flat prior it is integrated out, and what is left, −½ (λ − v)ᵀ Q (λ − v) with Q 1 = 0, speaks of
differences between anchors alone. It is part of the likelihood and not of the prior: values that
average 3 do not make qualities vary more. Where values are in other units than logits, quality is
multiplied by a slope, which is known or learned.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tiewise.data.tables import ID_HEADINGS, read_table
from tiewise.errors import InputError
from tiewise.model.anchors.factor import AnchorFactor
from tiewise.model.anchors.precision import LevelFreePrecision
from tiewise.model.anchors.slope import LearnedSlopeFactor
from tiewise.text import some_names

Floats = NDArray[np.float64]

FEWEST = 2
"""Anchors that are needed to say anything: the level takes one, a slope that is learned another."""
LEARNED = "learned"
FARTHEST, SUREST = 50.0, 0.001
"""Logits that anchors may be apart, and the smallest sd: nobody chooses, or knows, more surely."""
SLOPE_SPREADS = 3.0
"""Scale of the prior of a learned slope, in standard deviations of the anchors' values."""


@dataclass(frozen=True, eq=False)
class Anchors:
    """Items with a value from elsewhere, on a level of its own, and its error's sd.

    `slope` says how many units of the values a logit is: 1 where they are in logits, another
    number, or "learned"; then its prior is half-normal, and `slope_scale` is the scale of that,
    by default three times the standard deviation of the values. `precision`, where errors are
    correlated, stands in for `sd`; the level must be free in it (its rows sum to zero). `kurtosis`
    is that of what the values were taken from, above a Gaussian's, where it was draws.
    """

    items: tuple[str, ...]
    values: ArrayLike
    sd: ArrayLike | None = None
    precision: ArrayLike | None = field(default=None, kw_only=True, repr=False)
    slope: float | str = field(default=1.0, kw_only=True)
    slope_scale: float | None = field(default=None, kw_only=True)
    kurtosis: float = field(default=0.0, kw_only=True)

    def __post_init__(self) -> None:
        object.__setattr__(self, "items", tuple(map(str, self.items)))
        object.__setattr__(self, "values", np.asarray(self.values, float))
        size = len(self.items)
        if size < FEWEST:
            raise InputError(
                f"there is {size or 'no'} anchor, and the level of their scale is free; give two "
                "or more"
            )
        if len(set(self.items)) < size:
            twice = sorted({item for item in self.items if self.items.count(item) > 1})
            raise InputError(f"anchors name {some_names(twice)} twice; give each item one value")
        if (self.sd is None) == (self.precision is None):
            raise InputError("anchors have either sd or a precision; give one of them")
        self._check_numbers(size)
        self._check_slope(size)
        self._check_units()

    def _check_numbers(self, size: int) -> None:
        error = self.sd if self.precision is None else self.precision
        own = np.broadcast_to(
            np.asarray(error, float), (size,) if self.precision is None else (size, size)
        )
        object.__setattr__(self, "sd" if self.precision is None else "precision", own)
        values = np.asarray(self.values)
        if values.shape != (size,):
            raise InputError(f"{values.size} values came for {size} anchors; give each item one")
        known = np.isfinite(values) & np.isfinite(own.reshape(size, -1)).all(axis=1)
        if not known.all():
            raise InputError(
                f"{self._names(~known)} has a value or an sd that is no finite number; correct it"
            )
        if self.precision is None and not (own > 0).all():
            raise InputError(
                f"{self._names(own <= 0)} has an sd that is not above 0: it is how far the value "
                "may be off; correct it"
            )

    def _names(self, which: NDArray[np.bool_]) -> str:
        """Anchors to be named in a message."""
        return f"anchor {some_names([self.items[k] for k in np.flatnonzero(which)])}"

    def _check_slope(self, size: int) -> None:
        if self.slope != LEARNED:
            object.__setattr__(self, "slope", _known_slope(self.slope))
            return
        if self.precision is not None:
            raise InputError("a slope is learned from anchors with an sd; give sd, not a precision")
        if size <= FEWEST:
            raise InputError(
                f"there are {size} anchors, and both the level and the slope of their scale are "
                "free; give three or more, or the slope as a number"
            )
        scale = self.slope_scale
        own = SLOPE_SPREADS * float(np.std(np.asarray(self.values))) if scale is None else scale
        if not 0 < own < np.inf:
            raise InputError(
                "anchors with the same value do not say how many units a logit is; give others"
            )
        object.__setattr__(self, "slope_scale", float(own))

    def _check_units(self) -> None:
        """Refuse what no quality in logits can be; of a learned slope, values of one kind."""
        values = np.asarray(self.values)
        unit = float(np.std(values)) if self.is_slope_learned else float(self.slope)
        apart = float(np.ptp(values / unit))
        if apart > FARTHEST and not self.is_slope_learned:
            raise InputError(
                f"anchors are {apart:,.4g} logits apart, and nobody chooses as surely as that; if "
                "their values are in other units, give anchor_slope='learned', or how many units a "
                "logit is"
            )
        if self.sd is not None and (sure := np.asarray(self.sd) / unit < SUREST).any():
            raise InputError(
                f"{self._names(sure)} has an sd below {SUREST * unit:.3g}, surer than anything "
                "that judges say; give a larger one"
            )

    @property
    def is_slope_learned(self) -> bool:
        """Whether the slope is learned."""
        return self.slope == LEARNED

    @classmethod
    def read(cls, table: str | Path | Any, *, slope: float | str = 1.0) -> Anchors:
        """Anchors from a file, a data frame or columns: `item`, `value` and `sd`."""
        name = str(table) if isinstance(table, str | Path) else "the table of anchors"
        columns: Any = read_table(table, ID_HEADINGS) if isinstance(table, str | Path) else table
        headings = {str(column).strip().lower(): column for column in columns}
        item = next((headings[key] for key in ID_HEADINGS if key in headings), None)
        if item is None or "value" not in headings or "sd" not in headings:
            raise InputError(
                f"{name} has the columns {some_names([*headings])}; anchors need item, value and sd"
            )
        numbers = [_numbers([*columns[headings[key]]], name, key) for key in ("value", "sd")]
        return cls(tuple(str(one) for one in columns[item]), *numbers, slope=slope)

    def over(self, items: Sequence[str]) -> AnchorFactor:
        """What they say of the qualities of these items; strangers are refused."""
        place = {item: k for k, item in enumerate(items)}
        strangers = [item for item in self.items if item not in place]
        if strangers:
            raise InputError(
                f"anchors name {some_names(strangers)}, which the judgements do not; take them out"
            )
        positions = np.array([place[item] for item in self.items])
        known = positions, np.asarray(self.values), self.level_free
        if not self.is_slope_learned:
            return AnchorFactor(*known, float(self.slope))
        assert self.slope_scale is not None
        return LearnedSlopeFactor(*known, slope_scale=self.slope_scale)

    @property
    def weights(self) -> Floats | None:
        """1 / sd² of each; None where errors are correlated."""
        return None if self.sd is None else 1 / np.asarray(self.sd) ** 2

    @property
    def level_free(self) -> LevelFreePrecision:
        """Q: the precision of values with the level integrated out."""
        correlated = None if self.precision is None else np.asarray(self.precision)
        return LevelFreePrecision(self.weights, correlated)

    def to_dict(self) -> dict[str, Any]:
        """What they are, as data."""
        if self.sd is None:
            return {"items": list(self.items), "linked": True}
        rows = zip(self.items, np.asarray(self.values), np.asarray(self.sd), strict=True)
        facts: dict[str, Any] = {"anchors": [[item, float(v), float(sd)] for item, v, sd in rows]}
        if self.slope != 1:
            facts["slope"] = self.slope
        if self.is_slope_learned:
            facts["slope_scale"] = self.slope_scale
        return facts


def _numbers(column: list[Any], name: str, heading: str) -> Floats:
    """A column as numbers."""
    try:
        return np.asarray(column, float)
    except (TypeError, ValueError):
        other = next(cell for cell in column if not _is_number(cell))
        raise InputError(
            f"{name}: {heading} {other!r} is no number; value and sd are numbers, correct it"
        ) from None


def _is_number(cell: Any) -> bool:
    try:
        float(cell)
    except (TypeError, ValueError):
        return False
    return True


def _known_slope(slope: float | str) -> float:
    """A slope that is not learned, as a number."""
    try:
        number = float(slope)
    except ValueError:
        number = np.nan
    if not 0 < number < np.inf:
        raise InputError(
            f"the slope of anchors is {slope!r}; it is the number of their units that a logit is, "
            'above 0, or "learned"'
        )
    return number
