"""What is kept beside a posterior so that it can be scrutinised: who said what, and the prior."""

from __future__ import annotations

import json

import numpy as np
from xarray import Dataset, DataTree

from tiewise.data.comparisons import Comparisons
from tiewise.data.counts import Counts
from tiewise.errors import InputError
from tiewise.model.bradley_terry import BradleyTerry
from tiewise.model.quality_priors import Covariance, Independent, Prior
from tiewise.model.scalar_priors import TIE_PRIORS, VARIANCE_PRIORS, spoken
from tiewise.posterior.judgement_record import Record


def keep(tree: DataTree, model: BradleyTerry, comparisons: Comparisons | None) -> None:
    """Put the record of judgements, where it may be kept, and the prior's factor into a fit."""
    record = None if comparisons is None else Record.of(comparisons, model.items)
    if record is not None:
        tree["judgements"] = DataTree(record.dataset())
    factor = model.factor
    # A factor that is larger than all the draws would be most of the file.
    if factor is not None and factor.size <= tree["posterior/quality"].size:
        tree["prior"] = DataTree(Dataset({"factor": (["item", "direction"], factor)}))


def model_of(tree: DataTree) -> BradleyTerry:
    """The model that a posterior is of, put together again from what was kept."""
    said = json.loads(tree.attrs["model"])
    if "quality" not in said:
        raise InputError(
            f"{tree.attrs['engine']} has a prior of its own, so the model cannot be fitted again; "
            "fit with another engine"
        )
    if set(tree["posterior"].data_vars) - {"quality", "tie", "variance"}:
        raise InputError(
            "a model with terms cannot be put together again from its results; "
            "give the file of judgements instead"
        )
    seen = tree["observed_data"]
    items = tuple(tree["constant_data/item"].to_numpy().astype(str))
    columns = ("first", "second", "wins_first", "wins_second", "ties")
    counts = Counts.of(items, *(seen[name].to_numpy() for name in columns))
    none = said["tie"] == "no ties"
    return BradleyTerry(
        counts,
        _prior(tree, said["quality"], items),
        variance=spoken(said["variance"], VARIANCE_PRIORS),
        tie=None if none else spoken(said["tie"], TIE_PRIORS),
    )


def _prior(tree: DataTree, said: str, items: tuple[str, ...]) -> Prior:
    if "prior" in tree.children:
        factor = tree["prior/factor"].to_numpy()
        return Covariance(np.asarray(factor @ factor.T), items)
    if not said.startswith("independent"):
        raise InputError(
            f"these results do not hold their prior ({said}), so nothing can be fitted again; "
            "give the file of judgements and the map instead"
        )
    return Independent(items)
