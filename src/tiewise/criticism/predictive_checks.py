"""Predictive checks: would judgements made up from the fit look like those that were given?

From every draw of the posterior the same pairs are judged anew. What is counted of the given
answers is counted of these as well; where the given ones lie far outside, the model misses
something. A check of what the model is free to follow, such as wins, says little when it passes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.random import Generator, default_rng
from numpy.typing import NDArray
from xarray import DataTree

from tiewise.criticism.judge_statistics import LEFT, TIE, Said
from tiewise.posterior.judgement_record import Record, asked, by_stratum
from tiewise.posterior.predictions import Opinions, has_strata, replies, tail

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

DRAWS = 400
MOST_ANSWERS = 12_000_000
"""Answers made up in all: of very many judgements fewer draws are asked, 100 at the least."""
MOST_JUDGED = 300_000
"""Judgements looked at: of more, so many drawn at random."""
FEWEST_TRIADS, MOST_ITEMS = 10, 600
BINS, FEWEST_IN_BIN = 8, 25
FEWEST_JUDGES = 2


class Check(NamedTuple):
    """One thing counted: as it was given, and as the fit has it (median and 95 % interval).

    `p` is the chance that what is made up lies as far out or farther. `parts` are its pieces,
    where it has any: columns part, x, observed, low, middle, high.
    """

    key: str
    title: str
    unit: str
    observed: float
    low: float
    middle: float
    high: float
    p: float
    parts: pd.DataFrame | None = None


class _Study(NamedTuple):
    """What the checks look at: the answers, and facts that do not change from draw to draw."""

    said: Said
    stratum: Integers | None
    items: int
    judges: int
    sides: bool
    ties: bool
    bins: Integers
    centres: Floats


class _Seen(NamedTuple):
    """What is counted of one set of answers; or of many, stacked."""

    share: Any
    """Share of ties in each bin of differences."""
    circular: Any
    left: Any
    wins: Any
    judges: Any


class _Misfit(NamedTuple):
    """How far answers are from what one draw expects; or many answers from many draws, stacked."""

    near: Any
    wins: Any
    judges: Any


class _Look(NamedTuple):
    """All that a check may look at: what was given, and what was made up."""

    study: _Study
    given: _Seen
    made: _Seen
    given_misfit: _Misfit
    made_misfit: _Misfit


def predictive_checks(
    tree: DataTree, *, draws: int = DRAWS, seed: int | None = None
) -> list[Check]:
    """Every check that these results allow, from draws of their posterior.

    The same results give the same figures: without a `seed` the fit's own is used.
    """
    rng = default_rng([int(tree.attrs.get("seed", 0)) if seed is None else seed, 7])
    study = _study(tree, rng)
    if not len(study.said.left):
        return []
    size = max(min(draws, MOST_ANSWERS // max(len(study.said.left), 1)), 100)
    opinions = Opinions.of(tree, size)
    given: list[_Misfit] = []
    made: list[tuple[_Seen, _Misfit]] = []
    answer = study.said.outcome
    for part in opinions.in_parts(len(answer)):
        chance = part.chances(study.said.left, study.said.right, study.stratum)
        answers = replies(chance, rng)
        for k in range(len(part)):
            given.append(_misfits(study, answer, chance[:, k]))
            made.append((_counted(study, answers[k]), _misfits(study, answers[k], chance[:, k])))
    seen = _Seen(*(np.asarray(column)[None] for column in _counted(study, answer)))
    replicated, misfits = (_stacked(column) for column in zip(*made, strict=True))
    look = _Look(study, seen, _Seen(*replicated), _Misfit(*_stacked(given)), _Misfit(*misfits))
    return [check for way in LOOKS for check in way(look)]


def _study(tree: DataTree, rng: Generator) -> _Study:
    said, stratum, judges, sides = _told(tree)
    if len(said.left) > MOST_JUDGED:
        some = np.sort(rng.choice(len(said.left), MOST_JUDGED, replace=False))
        said, stratum = said.where(some), None if stratum is None else stratum[some]
    mean = tree["posterior/quality"].mean(("chain", "draw")).to_numpy()
    gap = np.abs(mean[said.left] - mean[said.right])
    number = int(np.clip(len(gap) // FEWEST_IN_BIN, 1, BINS))
    # Equal numbers of answers in each; sorted once, so that equal gaps do not straddle by chance.
    order = np.argsort(gap, kind="stable")
    bins = np.empty(len(gap), np.int64)
    bins[order] = np.arange(len(gap)) * number // max(len(gap), 1)
    centres = np.bincount(bins, gap, number) / np.maximum(np.bincount(bins, minlength=number), 1)
    ties = bool((tree["posterior/tie"] > 0).any())
    return _Study(said, stratum, len(mean), judges, sides, ties, bins, centres)


def _told(tree: DataTree) -> tuple[Said, Integers | None, int, bool]:
    """What was said, by which stratum if that matters, of how many judges, and if sides mean much.

    A model with terms was told strata and sides with the counts; they are judges only where judges
    have terms of their own.
    """
    if has_strata(tree):
        said, posterior = by_stratum(tree), tree["posterior"]
        return said, said.judge, posterior.sizes.get("judge", 0), "order" in posterior
    record = Record.read(tree)
    judges = len(record.judges) if record is not None else 0
    return asked(tree), None, judges, record is not None and record.sides


def _counted(study: _Study, answer: Integers) -> _Seen:
    said, tied, score = study.said, answer == TIE, 1 - answer / 2
    left = float((answer[~tied] == LEFT).mean()) if not tied.all() else np.nan
    wins = np.bincount(said.left, score, study.items)
    wins += np.bincount(said.right, 1 - score, study.items)
    return _Seen(
        _shares(study.bins, tied, len(study.centres)), _circular(study, answer), left, wins,
        _shares(said.judge, tied, max(study.judges, 1)),
    )  # fmt: skip


def _shares(group: Integers, tied: NDArray[np.bool_], size: int) -> Floats:
    number = np.bincount(group, minlength=size)
    out: Floats = np.bincount(group[tied], minlength=size) / np.maximum(number, 1)
    return out


def _misfits(study: _Study, answer: Integers, chance: Floats) -> _Misfit:
    said, tied = study.said, (answer == TIE) - chance[1]
    bend = chance[1] * (1 - chance[1])
    mean = chance[0] + chance[1] / 2
    rest, variance = 1 - answer / 2 - mean, chance[0] + chance[1] / 4 - mean**2
    both = np.concatenate([said.left, said.right])
    return _Misfit(
        _misfit(study.bins, tied, bend),
        _misfit(both, np.concatenate([rest, -rest]), np.concatenate([variance, variance])),
        _misfit(said.judge, tied, bend),
    )


def _misfit(group: Integers, rest: Floats, variance: Floats) -> float:
    """Sum over groups of squared differences from what is expected, each by its variance."""
    out, wide = np.bincount(group, rest), np.bincount(group, variance)
    some = wide > 0
    return float((out[some] ** 2 / wide[some]).sum())


def _circular(study: _Study, answer: Integers) -> float:
    """Share of circles among triads of items whose every pair has a majority; NaN without any."""
    size, said = study.items, study.said
    if size > MOST_ITEMS:
        return np.nan
    net = np.bincount(said.left * size + said.right, 1 - answer, size * size).reshape(size, size)
    net = net - net.T
    beats = (net > 0).astype(np.float32)
    either = beats + beats.T
    circles = float(((beats @ beats) * beats.T).sum()) / 3
    triads = float(((either @ either) * either).sum()) / 6
    return circles / triads if triads >= FEWEST_TRIADS else np.nan


def _stacked(rows: Sequence[tuple[Any, ...]]) -> list[Any]:
    return [np.stack(column) for column in zip(*rows, strict=True)]


# What each check makes of the counts.


def _tie_look(look: _Look) -> Iterator[Check]:
    study, given, made = look.study, look.given, look.made
    if not study.ties:
        return
    parts = _parts(study.centres, given.share[0], made.share, 100.0)
    parts.insert(0, "part", [f"about {gap:.2f} apart" for gap in study.centres])
    p = tail(look.made_misfit.near - look.given_misfit.near, 0.0)
    whole = made.share.mean(axis=1)
    yield _check("ties", "Ties by difference in quality", "% of answers",
                 100 * float(given.share[0].mean()), 100 * whole, float(p), parts)  # fmt: skip


def _judge_look(look: _Look) -> Iterator[Check]:
    study, given, made = look.study, look.given, look.made
    if not study.ties or study.judges < FEWEST_JUDGES:
        return
    order = np.argsort(given.judges[0], kind="stable")
    parts = _parts(np.arange(len(order)), given.judges[0][order], made.judges[:, order], 100.0)
    parts.insert(0, "part", order)
    p = tail(look.made_misfit.judges - look.given_misfit.judges, 0.0)
    spread = 100 * made.judges.std(axis=1)
    yield _check("judges", "How much judges differ in their use of ties", "% (sd over judges)",
                 100 * float(given.judges[0].std()), spread, float(p), parts)  # fmt: skip


def _triad_look(look: _Look) -> Iterator[Check]:
    given, made = look.given, look.made
    some = ~np.isnan(made.circular)
    if np.isnan(given.circular[0]) or some.mean() < 0.9:
        return
    shares, seen = made.circular[some], float(given.circular[0])
    yield _check("triads", "Circles: A over B, B over C, C over A", "% of triads",
                 100 * seen, 100 * shares, _two_sided(shares, seen))  # fmt: skip


def _order_look(look: _Look) -> Iterator[Check]:
    study, given, made = look.study, look.given, look.made
    if not study.sides or np.isnan(made.left).any() or np.isnan(given.left[0]):
        return
    seen = float(given.left[0])
    yield _check("order", "Left or right: does the side matter?", "% of decided answers",
                 100 * seen, 100 * made.left, _two_sided(made.left, seen))  # fmt: skip


def _win_look(look: _Look) -> Iterator[Check]:
    study, given, made = look.study, look.given, look.made
    there = np.flatnonzero(np.bincount(np.concatenate([study.said.left, study.said.right]),
                                       minlength=study.items))  # fmt: skip
    parts = _parts(made.wins.mean(axis=0)[there], given.wins[0][there], made.wins[:, there], 1.0)
    parts.insert(0, "part", there)
    p = tail(look.made_misfit.wins - look.given_misfit.wins, 0.0)
    spread = made.wins[:, there].std(axis=1)
    yield _check("wins", "Wins of each item", "wins (sd over items)",
                 float(given.wins[0][there].std()), spread, float(p), parts)  # fmt: skip


LOOKS: tuple[Callable[[_Look], Iterator[Check]], ...] = (
    _tie_look, _judge_look, _triad_look, _order_look, _win_look,
)  # fmt: skip


def _check(
    key: str, title: str, unit: str, observed: float, made: Floats, p: float,
    parts: pd.DataFrame | None = None,
) -> Check:  # fmt: skip
    low, middle, high = (float(q) for q in np.quantile(made, (0.025, 0.5, 0.975)))
    return Check(key, title, unit, observed, low, middle, high, p, parts)


def _parts(x: Floats | Integers, seen: Floats, made: Floats, unit: float) -> pd.DataFrame:
    low, middle, high = np.quantile(made, (0.025, 0.5, 0.975), axis=0)
    columns = {"observed": seen, "low": low, "middle": middle, "high": high}
    return pd.DataFrame({"x": x, **{key: unit * value for key, value in columns.items()}})


def _two_sided(made: Floats, observed: float) -> float:
    above = float(tail(made, observed))
    return min(2 * min(above, 1 - above), 1.0)


def checks_table(checks: list[Check]) -> pd.DataFrame:
    """The checks as `checks.csv` has them: one row each."""
    columns = ("key", "title", "unit", "observed", "low", "middle", "high", "p")
    rows = [{name: getattr(check, name) for name in columns} for check in checks]
    table = pd.DataFrame(rows, columns=columns).rename(columns={"key": "check"})
    return table.rename(columns={"low": "q2.5", "middle": "median", "high": "q97.5"})
