"""Public data sets: fetched once, checked by their hash, read from R's own format."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlsplit

from tiewise.data.answers import ANSWERS, FIRST, SECOND, TIE
from tiewise.data.comparisons import Comparisons, read_comparisons
from tiewise.data.files import write_csv
from tiewise.data.text_columns import as_text
from tiewise.errors import InputError
from tiewise.geo.areas import Areas
from tiewise.geo.graph import Graph
from tiewise.optional import require
from tiewise.workflows.r_files import RMap, dense_matrix, read_rda

if TYPE_CHECKING:
    from pandas import DataFrame

COMMIT = "366b0728883a6c0966ec536ae25522d6ec6720b9"
BASE = f"https://raw.githubusercontent.com/rowlandseymour/speedyBBT/{COMMIT}/data/"
ORIGIN = (
    "From the R package speedyBBT by Rowland Seymour and others, "
    f"https://github.com/rowlandseymour/speedyBBT (commit {COMMIT[:7]}), licence GPL-3."
)
HASHES: Mapping[str, str] = {
    "sy.comparisons.rda": "6ceb330abb6cab9e246fb41dedf297d029e98550732208fd98c7de68ab475cab",
    "oxon.comparisons.rda": "d95b67ff46a3cf188446dec2d2936c6c7adcf1fcbd7ba19af6dff3fbf1db43eb",
    "darEsSalaam.rda": "5590a61995e845902d3447cbe6ba9b2164ba0ee302af723b035faaea24be4feb",
    "forcedMarriage.rda": "b0c68e2354b51e477f42a1a3fe40774780e2bc7b51fce3af469eff4e53d58231",
    "wimbledon.rda": "9fdeb457eba3b5edc914dbcd897822c22ae71e40e89616098a6ffe0eaa7531ec",
}


@dataclass(frozen=True, eq=False)
class Dataset:
    """One public study: its comparisons and whatever is known of its items.

    `items` has one row per item with its `id`, `name` and what else is known; `about` says where
    it all comes from and under which licence.
    """

    name: str
    about: str
    comparisons: Comparisons
    graph: Graph | None
    areas: Areas | None
    items: DataFrame | None

    def write(self, folder: str | Path) -> list[Path]:
        """Write the data set as plain files; return their paths."""
        folder = Path(folder)
        folder.mkdir(parents=True, exist_ok=True)
        for file, write in self._files().items():
            write(folder / file)
        return [folder / file for file in self._files()]

    def _files(self) -> dict[str, Callable[[Path], object]]:
        import pandas as pd

        files: dict[str, Callable[[Path], object]] = {
            "comparisons.csv": self.comparisons.to_csv,
            "ABOUT.txt": lambda path: path.write_text(self.about + "\n", encoding="utf-8"),
        }
        if self.items is not None:
            files["items.csv"] = partial(write_csv, self.items)
        if self.graph is not None:
            edges = pd.DataFrame(self.graph.pairs(), columns=["a", "b"])
            files["edges.csv"] = partial(write_csv, edges)
        if self.areas is not None:
            files["areas.gpkg"] = self.areas.to_gpkg
        return files


def names() -> tuple[str, ...]:
    """The data sets there are."""
    return tuple(STUDIES)


def load(
    name: str,
    *,
    base: str | None = None,
    folder: str | Path | None = None,
    hashes: Mapping[str, str] = HASHES,
) -> Dataset:
    """The data set with this name, from the cache of this machine if it is there.

    `base` is the address to fetch from (else TIEWISE_DATA_URL, else GitHub), `folder` the place
    to keep the file (else the user's cache).
    """
    if name not in STUDIES:
        raise InputError(f"there is no data set {name!r}; choose from {', '.join(STUDIES)}")
    study = STUDIES[name]
    path = fetch(study.file, base=base, folder=folder, hashes=hashes)
    parts = study.build(read_rda(path)[path.stem])
    comparisons = read_comparisons(parts.table, name=study.file)
    return Dataset(
        name, f"{study.about}\n{ORIGIN}", comparisons, parts.graph, parts.areas, parts.items
    )


def fetch(
    file: str,
    *,
    base: str | None = None,
    folder: str | Path | None = None,
    hashes: Mapping[str, str] = HASHES,
) -> Path:
    """Where `file` is on this machine, after fetching it if it was not; its hash is right."""
    require("fetching a data set", "pooch", "requests", "rdata")
    import pooch
    from requests.exceptions import RequestException

    url = _address(base or os.environ.get("TIEWISE_DATA_URL") or BASE, file)
    store = Path(folder or pooch.os_cache("tiewise"))
    try:
        return Path(pooch.retrieve(url, f"sha256:{hashes[file]}", fname=file, path=store))
    except (RequestException, OSError) as error:
        raise InputError(
            f"{url} could not be fetched ({_reason(error)}); try again later, or download {file} "
            f"by hand and put it in {store}"
        ) from None
    except ValueError:
        raise InputError(
            f"{url} is not the file it should be (its sha256 is not {hashes[file]}) and was not "
            f"kept; fetch it from {BASE}{file} and put it in {store}"
        ) from None


def _address(base: str, file: str) -> str:
    try:
        parts = urlsplit(base)
        known = parts.scheme in ("http", "https") and parts.hostname
    except ValueError:
        known = None
    if not known:
        raise InputError(f"{base!r} is not a web address; give one that begins with https://")
    return f"{base.rstrip('/')}/{file}"


def _reason(error: OSError) -> str:
    response = getattr(error, "response", None)
    if response is not None:
        return f"the server answered {response.status_code} {response.reason}"
    return error.strerror or "no answer from the server"


class StudyParts(NamedTuple):
    """What a data file holds, in our own terms."""

    table: DataFrame
    graph: Graph | None = None
    areas: Areas | None = None
    items: DataFrame | None = None


def _interface(table: Any) -> StudyParts:
    return StudyParts(_as_text(table))


DAR_ES_SALAAM_CODES = {"0": FIRST, "1": SECOND, "2": TIE}


def _dar_es_salaam(study: Any) -> StudyParts:
    rows = _as_text(study["comparisons"])
    first, second, outcome = rows["subward1"], rows["subward2"], rows["outcome"]
    table = rows.assign(
        comparison_id=_numbers(len(rows)),
        item_1_id=first,
        item_2_id=second,
        selected_item_id=first.where(outcome == "0", second.where(outcome == "1", "")),
        state=outcome.map({code: ANSWERS[a].state for code, a in DAR_ES_SALAAM_CODES.items()}),
        judge_sex=rows["sex"],
    ).drop(columns=["subward1", "subward2", "outcome", "sex"])
    subwards = study["subwards"]
    ids = _numbers(len(subwards.table))
    names = _as_text(subwards.table)["subwardName"]
    areas = Areas.from_rings(
        ids, names, subwards.shapes, crs=subwards.crs, source="the map of Dar es Salaam"
    )
    graph = Graph.from_adjacency(dense_matrix(study["adjacencyMatrix"]), ids)
    return StudyParts(table, graph, areas, areas.frame()[["id", "name"]])


def _forced_marriage(study: Any) -> StudyParts:
    rows = _as_text(study["comparisons"])
    table = rows.rename(columns={"user": "user_id", "win": "winner", "lost": "loser"})
    wards = study["wards"]
    known = wards.table if isinstance(wards, RMap) else wards
    items = _items(_numbers(len(known)), known["NAME"], known.drop(columns="NAME"))
    graph = Graph.from_adjacency(dense_matrix(study["adjacencyMatrix"]), items["id"])
    return StudyParts(table, graph, None, items)


def _wimbledon(study: Any) -> StudyParts:
    # `outcome` is the R function's code for "the first won", which `winner` says already.
    table = _as_text(study["matches"]).drop(columns="outcome", errors="ignore")
    players = study["players"]
    items = _items(players["id"], players["name"], players.drop(columns=["id", "name"]))
    return StudyParts(table, None, None, items)


def _items(ids: Iterable[Any], names: Iterable[Any], others: DataFrame) -> DataFrame:
    """One row per item: `id` and `name` as text, then what else is known, as it came."""
    table = others.reset_index(drop=True).drop(columns=["id", "name"], errors="ignore")
    table.insert(0, "id", [as_text(one) for one in ids])
    table.insert(1, "name", [as_text(one) for one in names])
    return table


class StudySource(NamedTuple):
    """A file, how to build a data set from what it holds, and what it is about."""

    file: str
    build: Callable[[Any], StudyParts]
    about: str


STUDIES: Mapping[str, StudySource] = {
    "south-yorkshire": StudySource(
        "sy.comparisons.rda",
        _interface,
        "Risk of female genital mutilation in the wards of South Yorkshire, 2022. "
        "Chosen: the ward with the higher risk.",
    ),
    "oxfordshire": StudySource(
        "oxon.comparisons.rda",
        _interface,
        "Risk of honour based abuse in Oxford and Banbury. Chosen: the area with the higher risk.",
    ),
    "dar-es-salaam": StudySource(
        "darEsSalaam.rda",
        _dar_es_salaam,
        "Deprivation in the 452 subwards of Dar es Salaam, Tanzania, 2018. "
        "Chosen: the subward judged richer.",
    ),
    "forced-marriage": StudySource(
        "forcedMarriage.rda",
        _forced_marriage,
        "Risk of forced marriage in the 76 wards of Nottinghamshire. "
        "Chosen: the ward with the higher risk.",
    ),
    "wimbledon": StudySource(
        "wimbledon.rda",
        _wimbledon,
        "The 127 men's singles matches of Wimbledon 2019, and the players' ranks and points.",
    ),
}


def _numbers(count: int) -> list[str]:
    return [str(number) for number in range(1, count + 1)]


def _as_text(table: DataFrame) -> DataFrame:
    """The same table, numbered from 0, with every cell as text and "" for what is missing."""
    return table.reset_index(drop=True).map(as_text)
