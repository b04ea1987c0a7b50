"""Figures of every item from all draws on disk: quality, rank, and log likelihood of each draw."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tiewise.engines.quality_file import QualityFile, StoredQualities
from tiewise.engines.threads import in_threads
from tiewise.model.bradley_terry import BradleyTerry
from tiewise.posterior.large.watched_items import THREADS, places
from tiewise.progress import Progress, ProgressCounter

Floats = NDArray[np.float64]
Singles = NDArray[np.float32]

PROBABILITIES = (0.025, 0.5, 0.975)
CHAINS = 16
"""Chains whose log likelihood and ranks are computed together."""


class DrawFigures(NamedTuple):
    """One number of each draw (chains, draws), and its highest items (chains, draws, places).

    `spread` is the standard deviation of qualities over items.
    """

    log_likelihood: Floats
    spread: Floats
    highest: NDArray[np.int32]


class StoredSummary(NamedTuple):
    """Columns with a number for each item, and figures of each draw."""

    columns: dict[str, Floats]
    figures: DrawFigures


def summarise_stored(
    model: BradleyTerry, quality: StoredQualities, tie: Floats | None, progress: Progress
) -> StoredSummary:
    """Quality, rank and log likelihood from all draws, a part of them in memory at a time.

    Draws are read twice, by rows and by items, and so are the ranks, which are written to a file
    of their own in between. Without thresholds (chains, draws) there is no log likelihood.
    """
    blocks, parts = list(quality.draw_blocks()), list(quality.item_blocks())
    counter = ProgressCounter(progress, "summarising", len(blocks) + 2 * len(parts))
    ranks = QualityFile(quality.draws, quality.chains, quality.size)
    figures = _figures(model, quality, tie, ranks, blocks, counter)
    columns = _by_items(quality, parts, _quality_columns, counter)
    columns |= _by_items(StoredQualities(ranks), parts, _rank_columns, counter)
    return StoredSummary(columns, figures)


def _figures(
    model: BradleyTerry,
    quality: StoredQualities,
    tie: Floats | None,
    ranks: QualityFile,
    blocks: list[tuple[int, int]],
    counter: ProgressCounter,
) -> DrawFigures:
    """Figures of every draw; ranks are written to their file on the way."""
    shape = (quality.chains, quality.draws)
    log_likelihood, spread = np.empty(shape), np.empty(shape)
    highest = np.empty((*shape, places(quality.size)), np.int32)

    def one_block(block: tuple[int, int], counter: ProgressCounter) -> None:
        for draw, rows in enumerate(quality.rows(*block), block[0]):
            for k in range(0, len(rows), CHAINS):
                some = slice(k, k + CHAINS)
                columns = np.ascontiguousarray(rows[some].T, np.float64)
                if tie is not None:
                    log_likelihood[some, draw] = model.log_likelihood(columns, tie[some, draw])
                spread[some, draw] = np.sqrt(np.einsum("ic,ic->c", columns, columns) / len(columns))
                rank, order = ranked(rows[some])
                highest[some, draw] = order[:, : highest.shape[-1]]
                ranks.write(draw, k, rank)
        counter.step()

    in_threads(one_block, blocks, counter, THREADS)
    return DrawFigures(log_likelihood, spread, highest)


def ranked(rows: Singles) -> tuple[Singles, NDArray[np.int32]]:
    """The rank of every item in each row (rows, items), 1 the highest; and items by their rank."""
    size = rows.shape[1]
    rank = np.empty(rows.shape, np.float32)
    order = np.empty(rows.shape, np.int32)
    place = np.arange(1, size + 1, dtype=np.float32)
    for k, row in enumerate(rows):
        order[k] = _descending(row)
        rank[k, order[k]] = place
    return rank, order


def _descending(row: Singles) -> NDArray[np.int32]:
    """Items from the highest down; of equal ones the first comes first.

    Sorting one whole number for each item is several times quicker than a stable sort of values.
    """
    # The bits of a float, read as a whole number, are in its order once negative ones are turned.
    bits = (-row + np.float32(0)).view(np.int32)
    ordered = np.where(bits < 0, bits ^ np.int32(0x7FFFFFFF), bits).astype(np.int64)
    keys = (ordered << 32) | np.arange(len(row), dtype=np.int64)
    keys.sort()
    return (keys & 0xFFFFFFFF).astype(np.int32)


def _by_items(
    quality: StoredQualities,
    parts: list[tuple[int, int]],
    measure: Callable[[Singles], dict[str, Floats]],
    counter: ProgressCounter,
) -> dict[str, Floats]:
    """Columns of a measure of draws (items, draws), some items at a time."""

    def one_part(part: tuple[int, int], counter: ProgressCounter) -> dict[str, Floats]:
        draws = quality.items(*part)
        rows = np.ascontiguousarray(draws.reshape(-1, draws.shape[-1]).T)
        del draws
        counter.step()
        return measure(rows)

    columns = in_threads(one_part, parts, counter, THREADS)
    return {name: np.concatenate([own[name] for own in columns]) for name in columns[0]}


def _quality_columns(rows: Singles) -> dict[str, Floats]:
    """Columns from draws (items, draws)."""
    mean, sd = rows.mean(axis=1, dtype=np.float64), rows.std(axis=1, ddof=1, dtype=np.float64)
    above = (rows > 0).mean(axis=1)
    rows.sort(axis=1)
    low, median, high = (_quantile(rows, p) for p in PROBABILITIES)
    return {
        "mean": mean, "median": median, "sd": sd, "q2.5": low, "q97.5": high,
        "above_average": above,
    }  # fmt: skip


def _rank_columns(rows: Singles) -> dict[str, Floats]:
    """Columns from ranks (items, draws): ranks that occur, not ones between two of them."""
    rows.sort(axis=1)
    number = rows.shape[1]
    at = [max(int(np.ceil(p * number - 1e-9)) - 1, 0) for p in PROBABILITIES]
    low, median, high = (rows[:, k].astype(np.float64) for k in at)
    return {"rank": median, "rank_q2.5": low, "rank_q97.5": high}


def _quantile(ordered: Singles, probability: float) -> Floats:
    """A quantile of each sorted row, between two values in proportion."""
    place = probability * (ordered.shape[1] - 1)
    below = int(place)
    above = min(below + 1, ordered.shape[1] - 1)
    low, high = (ordered[:, k].astype(np.float64) for k in (below, above))
    out: Floats = low + (place - below) * (high - low)
    return out
