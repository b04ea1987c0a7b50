"""The Fit journey as one verb: judgements and perhaps a map in, a results folder out."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np

from tiewise.data.comparisons import Comparisons, read_comparisons
from tiewise.data.counts import Counts
from tiewise.data.tables import read_matrix, read_names
from tiewise.engines.base import Engine
from tiewise.engines.threads import one_blas_thread
from tiewise.errors import InputError, InputWarning
from tiewise.geo.areas import Areas, attributes
from tiewise.geo.graph import Graph
from tiewise.model.bradley_terry import BradleyTerry
from tiewise.model.quality_priors import (
    Covariance,
    Distance,
    Independent,
    Network,
    Precision,
    Prior,
)
from tiewise.model.scalar_priors import Exponential, Fixed, InverseGamma, TiePrior, VariancePrior
from tiewise.model.term_options import Wanted, extended, gathered
from tiewise.progress import Progress, no_progress
from tiewise.report.folder import About, Results, refuse_full, write_results

if TYPE_CHECKING:
    from geopandas import GeoDataFrame

_TERMS = {field.name for field in fields(Wanted)}
PRIORS = ("independent", "network", "distance", "covariance", "precision")


@dataclass(frozen=True)
class Surroundings:
    """What is known of the items beside the judgements: a map, neighbours, names, a matrix."""

    areas: Areas | None = None
    graph: Graph | None = None
    names: Mapping[str, str] | None = None
    matrix: tuple[np.ndarray[Any, Any], tuple[str, ...]] | None = None
    seconds: float = 0.0
    id: str | None = None
    table: Callable[[], object] | None = None
    """The other columns of the map, read when they are asked for."""

    @classmethod
    def read(
        cls,
        *,
        areas: str | Path | GeoDataFrame | None = None,
        id: str | None = None,
        name: str | None = None,
        group: str | None = None,
        edges: str | Path | None = None,
        names: str | Path | None = None,
        matrix: str | Path | None = None,
        join_islands: bool = False,
    ) -> Surroundings:
        """Surroundings from files; a map brings its neighbours and names along."""
        if areas is not None and edges is not None:
            raise InputError("give a map (--areas) or a list of neighbours (--edges), not both")
        if areas is None and (id or name or group or join_islands):
            raise InputError(
                "--id, --name, --group and --join-islands speak of a map; give it with --areas"
            )
        begun = perf_counter()
        land = None if areas is None else Areas.read(areas, id=id, name=name, group=group)
        graph = None if edges is None else Graph.from_edges(edges)
        if land is not None:
            graph = Graph.from_areas(land, join_islands=join_islands)
        told = dict(zip(land.items, land.names, strict=True)) if land is not None else {}
        if names is not None:
            told |= read_names(names)
        given = None if matrix is None else read_matrix(matrix)
        table = None if areas is None else partial(attributes, areas, id)
        return cls(land, graph, told, given, perf_counter() - begun, id, table)

    @property
    def items(self) -> tuple[str, ...] | None:
        """Every item there is, compared or not; None where only the judgements tell."""
        if self.graph is not None:
            return self.graph.items
        return None if self.matrix is None else self.matrix[1]


def choose_prior(
    around: Surroundings, kind: str | None = None, *, reach: float | None = None
) -> Prior:
    """The prior of this name; by default the network where neighbours are known."""
    kind = kind or ("network" if around.graph is not None else "independent")
    if reach is not None and kind != "distance":
        raise InputError(f"--reach belongs to --prior distance, and this prior is {kind}")
    if around.matrix is not None and kind not in ("covariance", "precision"):
        raise InputError("say what --matrix holds: --prior covariance or --prior precision")
    if kind == "independent":
        return Independent(around.items)
    if kind == "network":
        if around.graph is None:
            raise InputError("a network prior needs neighbours: give --areas or --edges")
        return Network(around.graph)
    if kind == "distance":
        if around.areas is None:
            raise InputError("a prior on distance needs a map: give --areas")
        return Distance(around.areas.centroids(), around.areas.items, reach=reach)
    if kind not in PRIORS:
        raise InputError(f"no prior {kind!r}; there are {', '.join(PRIORS)}")
    if around.matrix is None:
        raise InputError(f"a {kind} prior needs its matrix: give --matrix FILE")
    return Covariance(*around.matrix) if kind == "covariance" else Precision(*around.matrix)


def build_model(
    comparisons: Comparisons | Counts,
    around: Surroundings | None = None,
    *,
    prior: str | None = None,
    reach: float | None = None,
    variance: VariancePrior | Fixed | None = None,
    tie: TiePrior | Fixed | None = None,
    ties: bool = True,
    **terms: Any,
) -> BradleyTerry:
    """The model of these judgements; `ties=False` leaves the tied ones out.

    What else is given asks for terms, by the names of `Wanted`: `formula`, `order`, ….
    """
    around, wanted = around or Surroundings(), Wanted(**terms)
    if isinstance(comparisons, Comparisons):
        comparisons, wanted = gathered(comparisons, wanted)
    counts, more = extended(comparisons, wanted, table=around.table, id=around.id)
    if not ties:
        counts = counts.without_ties()
    if counts.comparisons == 0:
        raise InputError(
            "there is nothing to fit: no judgement chooses an item"
            + (" or calls a tie" if ties else " (--no-ties leaves ties out)")
            + (f", {counts.skips} are skips" if counts.skips else "")
            + "; give a file with some that do"
        )
    believed = choose_prior(around, prior, reach=reach)
    _refuse_strangers(counts, believed, around)
    return BradleyTerry(
        counts,
        believed,
        variance=variance or InverseGamma(),
        tie=(tie or Exponential()) if ties else None,
        terms=more,
    )


def _refuse_strangers(counts: Counts, prior: Prior, around: Surroundings) -> None:
    """Say so when the judgements and the prior have no item in common: the ids are of two kinds."""
    if prior.items is None or set(counts.items) & set(prior.items):
        return
    way = "choose its column of ids with --id" if around.areas is not None else "use the same ids"
    where = "map" if around.areas is not None else "edges" if around.graph is not None else "matrix"
    raise InputError(
        f"none of the compared items ({_some(counts.items)}) is in the {where}, "
        f"which has {_some(prior.items)}; {way}"
    )


def _some(items: Sequence[str], most: int = 3) -> str:
    return ", ".join(map(repr, items[:most])) + (", …" if len(items) > most else "") or "none"


def analyse(
    source: object,
    out: str | Path,
    *,
    around: Surroundings | None = None,
    engine: Engine | None = None,
    seed: int | None = None,
    about: About | None = None,
    columns: Mapping[str, str] | None = None,
    report: bool = True,
    record: bool = True,
    force: bool = False,
    progress: Progress = no_progress,
    **model: Any,
) -> Results:
    """Read judgements, fit the model, write the results folder `out`: the twin of `tiewise fit`.

    `columns` are the `first=, second=, chosen=, tie=` of `read_comparisons`; what else is given
    goes to `build_model`. Without the `record` nothing is kept of who said what.
    """
    from tiewise.posterior.fit import fit
    from tiewise.posterior.term_tables import keep_terms
    from tiewise.posterior.tree import keep

    refuse_full(Path(out), force=force)
    begun = perf_counter()
    comparisons = (
        source if isinstance(source, Comparisons) else read_comparisons(source, **(columns or {}))
    )
    around = around or Surroundings()
    wanted = Wanted(**{key: model.pop(key) for key in _TERMS & set(model)})
    called = comparisons.source
    comparisons, settled = gathered(comparisons, wanted, columns)
    with one_blas_thread():
        built = build_model(comparisons, around, **model, **vars(settled))
    _warn_nameless(built, around)
    read = perf_counter() - begun + around.seconds
    about = about or About()
    about = replace(
        about,
        # Everybody is among the top of as many as there are.
        top=min(about.top, max(built.size - 1, 1)),
        source=about.source or called,
        groups=around.areas is not None and around.areas.groups is not None,
    )
    tree = fit(built, engine, seed=seed, names=around.names, progress=progress)
    keep(tree, built, comparisons if record else None)
    if wanted:
        keep_terms(tree, built, wanted.said())
    if comparisons.ties and not model.get("ties", True):
        said = f"{comparisons.ties} tied judgements were left out of the fit (--no-ties)."
        tree.attrs["warnings"] = json.dumps([said, *json.loads(tree.attrs["warnings"])])
    return write_results(
        tree, out, about=about, areas=around.areas, force=force, read_seconds=read,
        finish=partial(_reported, progress=progress) if report else None,
    )  # fmt: skip


def _reported(results: Results, progress: Progress) -> None:
    from tiewise.report.html import write_report

    write_report(results, progress=progress)


def _warn_nameless(model: BradleyTerry, around: Surroundings) -> None:
    if around.names and not set(around.names) & set(model.items):
        warnings.warn(
            f"none of the names belongs to an item: names are for {_some(tuple(around.names))}, "
            f"items are {_some(model.items)}; use the same ids",
            InputWarning,
            stacklevel=3,
        )
