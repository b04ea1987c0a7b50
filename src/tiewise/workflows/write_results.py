"""Results of a fit written to a folder, in place of earlier ones with their plots."""

from __future__ import annotations

import json
from pathlib import Path

from xarray import DataTree

from tiewise.criticism.verdict import verdict
from tiewise.geo.areas import Areas
from tiewise.plots import PLOT_FILES
from tiewise.posterior.results_folder import Results, Wording, write_results_folder


def write_results(
    tree: DataTree,
    out: str | Path,
    *,
    wording: Wording | None = None,
    areas: Areas | None = None,
    force: bool = False,
) -> Results:
    """Write tables and posterior to the folder `out`: whole or not at all.

    `write_report` adds plots and the report. With `force`, results that are there are replaced,
    their plots included; other files stay.
    """
    top = (wording or Wording()).top
    tree.attrs["verdict"] = json.dumps(verdict(tree, top=top).to_dict())
    return write_results_folder(
        tree, out, wording=wording, areas=areas, force=force, replaces=PLOT_FILES
    )
