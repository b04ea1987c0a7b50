"""Synthetic results to draw, held in memory, and readers of what a figure shows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import geopandas
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.collections import PathCollection
from matplotlib.figure import Figure
from matplotlib.text import Text
from shapely import box
from shapely.geometry.base import BaseGeometry
from xarray import Dataset, DataTree

from tiewise.geo.areas import Areas
from tiewise.posterior.results_folder import Results, Wording

RISK = Wording(
    question="Which ward has the higher risk?", higher="higher risk", lower="lower risk",
    noun="ward", top=2,
)  # fmt: skip
MODEL = {
    "quality": {"kind": "network", "borders": 9},
    "variance": {"kind": "inverse-gamma", "shape": 2.0, "scale": 3.0},
    "tie": {"kind": "exponential", "rate": 1.5},
}


def table_of(count: int, **columns: object) -> pd.DataFrame:
    """A table of items, from quality 2 down to −2, with intervals half a unit either way."""
    middle = np.linspace(2, -2, count) if count > 1 else np.zeros(1)
    place = np.arange(1, count + 1)
    values = {
        "item": [str(k) for k in place], "name": [f"Ward {k}" for k in place],
        "mean": middle, "median": middle, "sd": 0.25, "q2.5": middle - 0.5, "q97.5": middle + 0.5,
        "rank": place, "rank_q2.5": place, "rank_q97.5": place,
        "top_k_probability": np.linspace(1, 0, count), "comparisons": 10,
    }  # fmt: skip
    return pd.DataFrame(values | columns)


def areas_of(shapes: list[BaseGeometry], crs: str | None = "EPSG:27700", **columns: Any) -> Areas:
    """Areas with these shapes and the ids 1, 2, 3, ..."""
    ids = {"id": [str(k + 1) for k in range(len(shapes))]}
    return Areas.read(geopandas.GeoDataFrame(ids | columns, geometry=shapes, crs=crs))


def squares(count: int, *, crs: str | None = "EPSG:27700", **columns: Any) -> Areas:
    """Squares in a row, a kilometre each."""
    row = [box(1000 * k, 0, 1000 * (k + 1), 1000) for k in range(count)]
    return areas_of(row, crs, **columns)


def results_of(
    table: pd.DataFrame,
    areas: Areas | None = None,
    *,
    wording: Wording = RISK,
    draws: np.ndarray[Any, Any] | None = None,
    tie: Any = None,
    variance: Any = None,
    pairs: list[tuple[int, int, int, int, int]] | None = None,
    prior_sd: float = 1.0,
    superchains: int = 0,
    **facts: Any,
) -> Results:
    """Results that hold this table; the draws lie around its means, the items in other order.

    `draws` are (chains, draws, items) in the order of the table; `pairs` are positions in the
    table with the answers for the first, for the second, and for neither.
    """
    rng, size = np.random.default_rng(3), len(table)
    if draws is None:
        noise = rng.normal(size=(4, 100, size))
        draws = table["mean"].to_numpy() + table["sd"].to_numpy() * noise
    shape = draws.shape[:2]
    tie = rng.gamma(100, 0.005, shape) if tie is None else np.broadcast_to(tie, shape)
    variance = rng.gamma(50, 0.03, shape) if variance is None else np.broadcast_to(variance, shape)
    turned = slice(None, None, -1)
    items = list(table["item"])[turned]
    counts = np.array(pairs or [(0, size - 1, 8, 1, 3)]).T
    observed = {
        "first": size - 1 - counts[0], "second": size - 1 - counts[1],
        "wins_first": counts[2], "wins_second": counts[3], "ties": counts[4],
    }  # fmt: skip
    sample, item = ("chain", "draw"), ("item",)
    tree = DataTree.from_dict(
        {
            "posterior": Dataset(
                {"quality": ((*sample, "item"), draws[..., turned]), "tie": (sample, tie),
                 "variance": (sample, variance)},
                coords={"item": items},
            ),
            "constant_data": Dataset(
                {"prior_sd": (item, np.full(size, prior_sd)),
                 "comparisons": (item, table["comparisons"].to_numpy()[turned])},
                coords={"item": items},
            ),
            "observed_data": Dataset({name: ("pair", column) for name, column in observed.items()}),
        }
    )  # fmt: skip
    tree.attrs.update(superchains=superchains, kind=facts.get("kind", "exact"))
    facts = {"engine": "transport", "kind": "exact", "model": MODEL, "items": size} | facts
    results = Results(Path("nowhere"), tree, wording, facts)
    vars(results).update(items=table, areas=areas)
    return results


# What a figure shows.


def texts(figure: Figure) -> list[Text]:
    """Every visible piece of text, with its final position."""
    figure.draw_without_rendering()
    # Ticks beyond the ends of an axis are there, but not drawn.
    beyond = {
        label
        for axes in figure.axes
        for axis in (axes.xaxis, axes.yaxis)
        for tick in axis.get_major_ticks()
        for label in (tick.label1, tick.label2)
        if not min(axis.get_view_interval()) <= tick.get_loc() <= max(axis.get_view_interval())
    }
    candidates = figure.findobj(lambda thing: isinstance(thing, Text) and thing not in beyond)
    return [text for text in candidates if text.get_text().strip() and text.get_visible()]


def words(figure: Figure) -> str:
    """Everything that is written, on one line."""
    text = " ".join(text.get_text() for text in texts(figure))
    return " ".join(text.replace(r"\$", "$").split())


def patches(axes: Axes) -> list[PathCollection]:
    return [one for one in axes.collections if isinstance(one, PathCollection)]


def colours(figure: Figure) -> np.ndarray[Any, Any]:
    """Red, green, blue and alpha of each area of a map, in its order."""
    return np.asarray(patches(figure.axes[0])[0].get_facecolor())


def hatched(figure: Figure, hatch: str) -> list[PathCollection]:
    return [patch for patch in patches(figure.axes[0]) if patch.get_hatch() == hatch]
