"""A study of a square map, as files: `… FOLDER ITEMS COMPARISONS`.

Writes areas.gpkg, comparisons.csv and truth.csv. Nothing here is of items by items.
"""

from __future__ import annotations

import sys
from pathlib import Path

import geopandas
import numpy as np
import pandas as pd
import shapely

from benchmarks.data import map_truth
from tiewise.geo.areas import Areas
from tiewise.geo.graph import Graph
from tiewise.model.map_priors import Network
from tiewise.model.simulate import simulate_comparisons

SIDE = 1000.0  # metres
JUDGES = 100


def sides(items: int) -> tuple[int, int]:
    """Rows and columns of the squarest map of so many areas."""
    rows = next(rows for rows in range(int(items**0.5), 0, -1) if items % rows == 0)
    return rows, items // rows


def square_areas(rows: int, columns: int) -> Areas:
    """Squares side by side, as the map of a study."""
    y, x = (SIDE * own.ravel() for own in np.mgrid[:rows, :columns])
    names = [str(k + 1) for k in range(rows * columns)]
    frame = geopandas.GeoDataFrame(
        {"id": names}, geometry=shapely.box(x, y, x + SIDE, y + SIDE), crs="EPSG:27700"
    )
    return Areas.read(frame)


def main() -> None:
    """Write the three files."""
    folder, items, comparisons = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    rng, areas = np.random.default_rng(1), square_areas(*sides(items))
    truth = map_truth(Network(Graph.from_areas(areas)), rng)
    areas.to_gpkg(folder / "areas.gpkg")
    simulate_comparisons(truth, comparisons, rng, judges=JUDGES).to_csv(folder / "comparisons.csv")
    table = pd.DataFrame({"item": truth.items, "quality": truth.quality - truth.quality.mean()})
    table.to_csv(folder / "truth.csv", index=False)


if __name__ == "__main__":
    main()
