"""Sampling that goes on until draws are worth enough, up to a limit; or why they are not."""

from __future__ import annotations

from dataclasses import replace
from time import perf_counter
from typing import NamedTuple

import numpy as np

from tiewise.engines.base import Draws, Engine
from tiewise.engines.stored_draws import STORED_NUMBERS
from tiewise.errors import InputError
from tiewise.model.bradley_terry import BradleyTerry
from tiewise.posterior.diagnostics import Convergence, convergence
from tiewise.posterior.large.watched_items import watch
from tiewise.posterior.warnings import ENOUGH_DRAWS, MAX_RHAT
from tiewise.progress import Progress

MOST_ROUNDS = 4
"""Rounds of sampling on, each as long as all before: 16 times the draws that were asked for."""
MOST_DRAWS, MOST_NUMBERS = 20_000, 20_000_000
"""Draws, and numbers in them, beyond which every second one is dropped."""

LONG_TAIL = 5.0
"""A long tail: the upper end of the variance's interval over its median."""
FEW_ANSWERS = 2.0
"""Comparisons an item below which there are few."""
BEST_ENGINES = ("transport", "patient-transport")
WORDS = {
    "quality": "some qualities", "tie": "the tie threshold", "variance": "the variance of quality",
    "share": "the share of the map", "explained": "the share of variance explained",
    "contrast": "differences between groups", "coefficient_sd": "the spread of coefficients",
    "contrast_variance": "the variance of differences between groups",
    "sharpness_sd": "the spread of judges' sharpness", "sharpness": "some judges' sharpness",
    "threshold_sd": "the spread of judges' thresholds", "threshold": "some judges' thresholds",
    "coefficient": "some coefficients", "order": "the advantage of the first",
}  # fmt: skip
"""Parameters as readers know them."""


class EnoughDraws(NamedTuple):
    """Draws, what they are worth, how often their number was doubled, and one of how many is kept.

    `went_on` says whether sampling went on for as long as they were not enough; the draws cannot
    be continued, so that nothing keeps the chains. `checking_seconds` went into finding out what
    draws are worth.
    """

    draws: Draws
    worth: Convergence
    rounds: int
    thin: int
    went_on: bool
    checking_seconds: float


def target_ess(engine: Engine, ess: int | None) -> int:
    """Effective draws to sample on for; whoever chose the number of draws gets exactly that many.

    0 where sampling does not go on.
    """
    if ess is not None:
        if ess < 0:
            raise InputError(f"ess must be 0 or a number of effective draws, not {ess}")
        return ess
    field = getattr(engine, "__dataclass_fields__", {}).get("draws")
    chosen = field is not None and getattr(engine, "draws", None) != field.default
    return 0 if chosen else ENOUGH_DRAWS


def sample_on(model: BradleyTerry, draws: Draws, target: int, progress: Progress) -> EnoughDraws:
    """Centred draws of the same chains, continued until they are worth `target` and R-hat is low.

    Each round takes as many steps as all before it. Memory is bounded: beyond `MOST_DRAWS` draws,
    or `MOST_NUMBERS` numbers, every second draw is dropped and later rounds keep one of two, but
    there are never fewer than were asked for. What draws are worth is counted on those kept. Draws
    of very many items are stored, `STORED_NUMBERS` numbers at most.
    """
    draws = draws.on_disk().centred(in_place=True)
    asked = draws.whole.tie.shape[1]
    steps, thin, rounds = asked, 1, 0
    worth, seconds = _timed_worth(model, draws)
    while target and (more := draws.more) and rounds < MOST_ROUNDS and not _settled(worth, target):
        while _too_many(2 * steps // thin, asked, draws):
            draws, thin = draws.every_second(), 2 * thin
        draws = draws.joined(more(steps // thin, thin, progress).on_disk().centred(in_place=True))
        steps, rounds = 2 * steps, rounds + 1
        worth, more_seconds = _timed_worth(model, draws)
        seconds += more_seconds
    went_on = bool(target and draws.more)
    return EnoughDraws(replace(draws, more=None), worth, rounds, thin, went_on, seconds)


def _timed_worth(model: BradleyTerry, draws: Draws) -> tuple[Convergence, float]:
    begin = perf_counter()
    return worth_of(model, draws), perf_counter() - begin


def worth_of(model: BradleyTerry, draws: Draws) -> Convergence:
    """What centred draws are worth, where they are worth least."""
    whole, comparisons = draws.whole, model.counts.per_item()
    quality = draws.quality
    if draws.stored is not None:
        watched = watch(draws.stored.quality, comparisons)
        quality, comparisons = watched.quality, comparisons[watched.items]
    values = {"quality": quality, "tie": whole.tie, "variance": whole.variance, **whole.terms}
    return convergence(values, comparisons, draws.superchains or 0)


def _settled(worth: Convergence, target: int) -> bool:
    # Draws too few to say what they are worth (NaN) are not enough.
    return worth.ess >= target and worth.rhat < MAX_RHAT


def _too_many(each: int, asked: int, draws: Draws) -> bool:
    """Whether so many draws a chain are more than are kept; never of those asked for."""
    chains = draws.tie.shape[0]
    most = MOST_NUMBERS if draws.stored is None else STORED_NUMBERS
    numbers = sum(own[0, 0].size for own in (draws.quality, *draws.terms.values()))
    return each // 2 >= asked and chains * each > min(MOST_DRAWS, most // numbers)


# Why draws are not worth enough.


def sampling_cause(
    model: BradleyTerry, draws: Draws, engine: str, parameter: str, *, went_on: bool
) -> str:
    """Why draws are worth too little after sampling went on; `parameter` is worth least."""
    if not went_on:
        return (
            "As many draws were taken as were asked for; without a number, sampling goes on by "
            "itself until there are enough."
        )
    return (
        _no_ties(model, parameter)
        or _long_tail(draws, parameter)
        or _few_answers(model)
        or _slow_engine(engine)
        or f"The data hardly say what {_words(parameter)} should be: leave the term out, or give "
        "it a tighter prior."
    )


def _no_ties(model: BradleyTerry, parameter: str) -> str:
    if parameter != "tie" or model.counts.total_ties:
        return ""
    return (
        "The data hold not a single tie, so that little but its prior says how large the tie "
        "threshold is: fit without one."
    )


def _long_tail(draws: Draws, parameter: str) -> str:
    variance = draws.whole.variance
    if parameter not in ("variance", "quality", "tie", "share") or np.ptp(variance) == 0:
        return ""
    middle, high = np.quantile(variance, (0.5, 0.975))
    if not high > LONG_TAIL * middle:
        return ""
    return (
        f"The data hardly bound the variance of quality: its posterior has a long tail, up to "
        f"{high / middle:.0f} times its median. Give it a tighter prior, or fix it."
    )


def _few_answers(model: BradleyTerry) -> str:
    comparisons, items = model.counts.comparisons, model.size
    if comparisons >= FEW_ANSWERS * items:
        return ""
    return (
        f"There are few comparisons for so many items ({comparisons:,} of {items:,}), so that "
        "estimates lean on the prior and on each other: collect more."
    )


def _slow_engine(engine: str) -> str:
    if engine in BEST_ENGINES:
        return ""
    return f"The engine {engine} moves slowly through this posterior: leave the engine out."


def _words(parameter: str) -> str:
    return WORDS.get(parameter, parameter)
