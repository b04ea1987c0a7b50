"""Data sets: fetched from a server on this machine, in files that these tests write."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
import rdata
import shapely
from rdata.conversion.to_r import DEFAULT_CLASS_MAP, build_r_object, dataframe_constructor

from tiewise.data.comparisons import read_comparisons
from tiewise.errors import InputError
from tiewise.geo.areas import Areas
from tiewise.geo.graph import Graph
from tiewise.workflows import datasets, r_files

STUDIES = Path(__file__).parents[3] / "shared" / "data"
needs_studies = pytest.mark.skipif(
    not STUDIES.exists(), reason="real studies not beside this checkout"
)


@dataclass
class WithAttributes:
    """An R object with attributes, as rdata's writer has none."""

    value: Any
    attributes: dict[str, Any]


def _to_r(thing: WithAttributes, converter: Any) -> Any:
    plain = converter.convert_to_r_object(thing.value)
    attributes = converter.convert_to_r_attributes(thing.attributes)
    return build_r_object(plain.info.type, value=plain.value, is_object=True, attributes=attributes)


def _frame_to_r(frame: pd.DataFrame, converter: Any) -> Any:
    # rdata 1.1 does not know the text columns of pandas 3.
    plain = {name: object for name in frame if pd.api.types.is_string_dtype(frame[name])}
    return dataframe_constructor(frame.astype(plain), converter)


def write_rda(path: Path, thing: Any) -> None:
    known = {**DEFAULT_CLASS_MAP, WithAttributes: _to_r, pd.DataFrame: _frame_to_r}
    rdata.write_rda(path, {path.stem: thing}, constructor_dict=known)


def texts(*words: str | None) -> np.ndarray:
    return np.array(words, object)


def square(x: float, y: float, side: float = 1) -> np.ndarray:
    corners = [(0, 0), (0, 1), (1, 1), (1, 0), (0, 0)]
    return np.array([(x + side * a, y + side * b) for a, b in corners], float)


def sf_frame(names: list[str], shapes: list[Any], crs: dict[str, Any]) -> WithAttributes:
    """What R's sf keeps: a list of columns, the last a list of lists of coordinate matrices."""
    drawn = [
        WithAttributes(shape, {"class": texts("XY", "MULTIPOLYGON", "sfg")}) for shape in shapes
    ]
    column = WithAttributes(
        drawn,
        {
            "class": texts("sfc_MULTIPOLYGON", "sfc"),
            "precision": 0.0,
            "crs": WithAttributes(crs, {"names": texts(*crs), "class": "crs"}),
            "n_empty": 0,
        },
    )
    unset = np.ma.array([-(2**31)], mask=[True], dtype=np.int32)
    agr = {"names": texts("subwardName"), "levels": texts("constant", "identity")}
    return WithAttributes(
        [texts(*names), column],
        {
            "names": texts("subwardName", "geometry"),
            "row.names": np.arange(1, len(names) + 1, dtype=np.int32),
            "sf_column": "geometry",
            "agr": WithAttributes(unset, {**agr, "class": "factor"}),
            "class": texts("sf", "data.frame"),
        },
    )


INTERFACE = pd.DataFrame(
    {
        "comparison_id": [1, 2, 3, 4],
        "user_id": [7, 7, 8, 8],
        "item_1_id": [1, 2, 3, 1],
        "item_2_id": [2, 3, 1, 2],
        "selected_item_id": pd.array([2, None, 3, None], "Int32"),
        "state": ["selected", "tied", "selected", "skipped"],
    }
)

CROSS = np.array([[0, 1, 0], [1, 0, 1], [0, 1, 0]], float)

DAR = {
    "comparisons": pd.DataFrame(
        {
            "outcome": [1.0, 0.0, 2.0],
            "subward1": [1.0, 2.0, 3.0],
            "subward2": [2.0, 3.0, 1.0],
            "sex": pd.Categorical(["male", "female", "male"]),
        }
    ),
    "subwards": sf_frame(
        ["Idrisa", "Dossi", "Idrisa"],
        [
            [[square(0, 0, 4), square(1, 1)]],
            [[square(4, 0, 4)]],
            [[square(8, 0, 4)], [square(20, 0)]],
        ],
        {"input": "EPSG:4210", "wkt": "EPSG:4210"},
    ),
    "adjacencyMatrix": CROSS,
}

FORCED = {
    "comparisons": pd.DataFrame(
        {
            "user": [1, 1, 2],
            "time": ["16:08", "16:09", "16:10"],
            "win": [3, 3, 1],
            "lost": [1, 2, 2],
        }
    ),
    "wards": pd.DataFrame({"NAME": ["Arnot", "Beeston", "Clifton"], "CODE": ["E1", "E2", "E3"]}),
    "adjacencyMatrix": CROSS.astype(int),
}

WIMBLEDON = {
    "matches": pd.DataFrame(
        {"winner": [2, 2], "loser": [1, 3], "secondWeek": [0, 1], "outcome": [0, 0]}
    ),
    "players": pd.DataFrame(
        {"name": ["Ann", "Bob", "Cy"], "rank": [3, 1, 2], "points": [10, 30, 20], "id": [1, 2, 3]}
    ),
}


def dar_es_salaam(folder: Path, **parts: Any) -> datasets.Dataset:
    """The data set as it would be with other parts, from a file put into `folder`."""
    path = folder / "darEsSalaam.rda"
    write_rda(path, {**DAR, **parts})
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    return datasets.load("dar-es-salaam", folder=folder, hashes={path.name: digest})


FILES = {
    "sy.comparisons.rda": INTERFACE,
    "oxon.comparisons.rda": INTERFACE,
    "darEsSalaam.rda": DAR,
    "forcedMarriage.rda": FORCED,
    "wimbledon.rda": WIMBLEDON,
}


@dataclass
class Server:
    """A file server on this machine, the hashes of its files, and what it was asked for."""

    base: str
    hashes: dict[str, str]
    requests: list[str] = field(default_factory=list)


@pytest.fixture(scope="module")
def shelf(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("shelf")
    for file, thing in FILES.items():
        write_rda(folder / file, thing)
    return folder


@pytest.fixture
def server(shelf, monkeypatch) -> Iterator[Server]:
    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.setenv(name, "127.0.0.1")
    requests: list[str] = []

    class Handler(SimpleHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            requests.append(self.path)

    hashes = {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in shelf.iterdir()}
    http = ThreadingHTTPServer(("127.0.0.1", 0), partial(Handler, directory=str(shelf)))
    threading.Thread(target=http.serve_forever, args=(0.01,), daemon=True).start()
    yield Server(f"http://127.0.0.1:{http.server_port}", hashes, requests)
    http.shutdown()
    http.server_close()


@pytest.fixture
def load(server, tmp_path):
    """Load from the server on this machine."""
    return partial(datasets.load, base=server.base, folder=tmp_path, hashes=server.hashes)


@pytest.mark.parametrize("name", ["south-yorkshire", "oxfordshire"])
def test_comparisons_of_the_interface_come_as_they_are(load, name):
    study = load(name)
    counts = study.comparisons.counts()
    assert counts.items == ("1", "2", "3")
    assert (counts.comparisons, counts.total_ties, counts.skips) == (3, 1, 1)
    assert study.comparisons.judges == {"7", "8"}
    assert study.graph is study.areas is study.items is None
    assert "GPL-3" in study.about


def test_dar_es_salaam_has_comparisons_map_and_neighbours(load):
    """Outcome 1 is a win of the second subward, 0 of the first, 2 a tie."""
    study = load("dar-es-salaam")
    rows = study.comparisons.rows()
    assert rows["first"].tolist() == ["1", "2", "3"]
    assert rows["second"].tolist() == ["2", "3", "1"]
    assert rows["outcome"].tolist() == ["second", "first", "tie"]
    assert rows["judge_sex"].tolist() == ["male", "female", "male"]
    assert study.graph.pairs() == [("1", "2"), ("2", "3")]
    assert study.areas.items == ("1", "2", "3")
    assert study.areas.names == ("Idrisa", "Dossi", "Idrisa")
    assert shapely.area(study.areas.geometry.to_numpy()).tolist() == [15, 16, 17]
    assert study.areas.geometry.crs.to_epsg() == 4210
    assert study.items["name"].tolist() == ["Idrisa", "Dossi", "Idrisa"]


@pytest.mark.parametrize(
    ("crs", "epsg"),
    [
        ({"input": "EPSG:27700", "wkt": texts(None)}, 27700),
        ({"epsg": 27700, "proj4string": "+proj=nothing"}, 27700),
        ({"input": texts(None), "wkt": texts(None)}, None),
    ],
)
def test_every_spelling_of_a_coordinate_system_is_read(tmp_path, crs, epsg):
    frame = sf_frame(["A"], [[[square(0, 0)]]], crs)
    write_rda(
        tmp_path / "darEsSalaam.rda",
        {**DAR, "subwards": frame, "adjacencyMatrix": np.zeros((1, 1))},
    )
    digest = hashlib.sha256((tmp_path / "darEsSalaam.rda").read_bytes()).hexdigest()
    study = datasets.load("dar-es-salaam", folder=tmp_path, hashes={"darEsSalaam.rda": digest})
    crs = study.areas.geometry.crs
    assert (None if crs is None else crs.to_epsg()) == epsg


def test_sparse_matrices_of_r_are_read():
    """One triangle by columns, as R's Matrix keeps symmetric ones; with or without values."""
    sparse = {"i": np.array([0, 1]), "p": np.array([0, 0, 1, 2]), "Dim": np.array([3, 3])}
    for slots in (sparse, {**sparse, "x": np.array([1.0, 1.0])}):
        assert r_files.dense_matrix(SimpleNamespace(**slots)).tolist() == CROSS.tolist()


def test_forced_marriage_has_judges_wards_and_neighbours(load):
    study = load("forced-marriage")
    counts = study.comparisons.counts()
    assert study.comparisons.judges == {"1", "2"}
    assert dict(zip(counts.items, won(study.comparisons), strict=True)) == {"1": 1, "2": 0, "3": 2}
    assert study.items.iloc[2].tolist() == ["3", "Clifton", "E3"]
    assert study.graph.pairs() == [("1", "2"), ("2", "3")]
    assert study.areas is None


def test_wimbledon_has_matches_and_players(load):
    study = load("wimbledon")
    assert won(study.comparisons) == [0, 2, 0]
    assert study.items.iloc[1].to_dict() == {"id": "2", "name": "Bob", "rank": 1, "points": 30}
    assert study.graph is None


def won(comparisons) -> list[int]:
    """How often each item was chosen, from the rows."""
    rows = comparisons.rows()
    chosen = rows["first"].where(rows["outcome"] == "first", rows["second"])
    return [int((chosen == item).sum()) for item in comparisons.items]


def test_the_server_is_asked_only_once(load, server):
    load("wimbledon")
    load("wimbledon")
    assert server.requests == ["/wimbledon.rda"]


def test_a_mirror_can_be_named_in_the_environment(server, tmp_path, monkeypatch):
    monkeypatch.setenv("TIEWISE_DATA_URL", server.base + "/")
    datasets.load("wimbledon", folder=tmp_path, hashes=server.hashes)
    assert server.requests == ["/wimbledon.rda"]


def test_a_file_put_there_by_hand_will_do(shelf, server, tmp_path):
    """Nobody is asked: the address leads nowhere."""
    (tmp_path / "wimbledon.rda").write_bytes((shelf / "wimbledon.rda").read_bytes())
    study = datasets.load(
        "wimbledon", base="http://127.0.0.1:1", folder=tmp_path, hashes=server.hashes
    )
    assert len(study.comparisons) == 2


def test_a_file_with_the_wrong_hash_is_refused_and_not_kept(server, tmp_path):
    """The published hashes are not those of the files made here."""
    with pytest.raises(InputError, match="not the file it should be") as error:
        datasets.load("wimbledon", base=server.base, folder=tmp_path)
    assert "\n" not in str(error.value)
    assert str(tmp_path) in str(error.value)
    assert list(tmp_path.iterdir()) == []


def test_what_the_server_lacks_is_said_with_the_way_out(server, tmp_path):
    with pytest.raises(InputError, match=r"answered 404.*by hand and put it in") as error:
        datasets.load("wimbledon", base=f"{server.base}/nowhere", folder=tmp_path)
    assert "\n" not in str(error.value)
    assert str(tmp_path) in str(error.value)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("base", ["http://127.0.0.1:1", "http://[bad", "ftp://127.0.0.1", "folder"])
def test_an_address_that_leads_nowhere_is_said_in_one_line(base, tmp_path, monkeypatch):
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with pytest.raises(InputError, match=r"fetched|web address") as error:
        datasets.load("wimbledon", base=base, folder=tmp_path)
    assert "\n" not in str(error.value)


def test_an_unknown_name_lists_those_there_are():
    with pytest.raises(InputError, match=r"'york'.*south-yorkshire, oxfordshire, dar-es-salaam"):
        datasets.load("york")


def test_every_name_has_a_published_hash():
    assert set(datasets.names()) == {
        "south-yorkshire", "oxfordshire", "dar-es-salaam", "forced-marriage", "wimbledon"
    }  # fmt: skip
    assert {study.file for study in datasets.STUDIES.values()} == set(datasets.HASHES)
    assert {len(digest) for digest in datasets.HASHES.values()} == {64}


@pytest.mark.parametrize("name", datasets.names())
def test_written_files_are_read_back_alike(load, name, tmp_path):
    study = load(name)
    files = study.write(tmp_path / "out" / name)
    assert sorted(files) == sorted((tmp_path / "out" / name).iterdir())
    folder = tmp_path / "out" / name
    assert read_comparisons(folder / "comparisons.csv").counts() == study.comparisons.counts()
    if study.graph is not None:
        assert Graph.from_edges(folder / "edges.csv", study.graph.items) == study.graph
    if study.areas is not None:
        assert Areas.read(folder / "areas.gpkg").names == study.areas.names
    if study.items is not None:
        again = pd.read_csv(folder / "items.csv", dtype=str)
        assert again.to_dict("list") == study.items.astype(str).to_dict("list")
    assert "GPL-3" in (folder / "ABOUT.txt").read_text()


@pytest.mark.slow
@needs_studies
def test_a_real_map_survives_the_journey_through_r(tmp_path):
    """The 452 polygons of Dar es Salaam, put into R's shape and read again, are the same."""
    real = Areas.read(STUDIES / "dar-es-salaam-subwards.gpkg", name="subwardName")
    parts = [getattr(shape, "geoms", [shape]) for shape in real.geometry]
    shapes = [
        [[np.array(ring.coords) for ring in (p.exterior, *p.interiors)] for p in polygons]
        for polygons in parts
    ]
    wkt = real.geometry.crs.to_wkt()
    frame = sf_frame(list(real.names), shapes, {"input": "EPSG:4210", "wkt": wkt})
    matrix = Graph.from_areas(real).adjacency().toarray()
    study = dar_es_salaam(tmp_path, subwards=frame, adjacencyMatrix=matrix)
    assert study.areas.names == real.names
    assert study.areas.geometry.geom_equals(real.geometry).all()
    assert len(study.graph.edges) == 1262
