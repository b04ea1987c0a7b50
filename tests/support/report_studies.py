"""Studies to report on, from a county with a map to two thousand items, and a page read again."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path

import geopandas
import numpy as np
from shapely import box
from xarray import Dataset, DataTree

from tiewise.data.counts import Counts
from tiewise.data.spreadsheet_cells import restore
from tiewise.engines.laplace import Laplace
from tiewise.engines.maximum_likelihood import MaximumLikelihood
from tiewise.engines.transport import Transport
from tiewise.geo.areas import Areas
from tiewise.geo.graph import Graph
from tiewise.model.bradley_terry import BradleyTerry
from tiewise.model.map_priors import Network
from tiewise.model.scalar_priors.fixed import Fixed
from tiewise.model.simulate import Truth, simulate_counts
from tiewise.posterior.fit import fit
from tiewise.posterior.results_folder import Results, Wording, read_results, write_results_folder

WARDS, SILENT = 14, ("5", "9")
RISK = Wording(
    question="Which ward has the higher risk?", higher="higher risk", lower="lower risk",
    noun="ward", top=3, source="comparisons.csv",
)  # fmt: skip

ODD = (
    "<script>alert(1)</script>", '"><img src=x onerror=alert(2)>', "</title></style></script>",
    "O'Hara & Sons", "{{ 7 * 7 }}", "100 % $x$", "מרכז העיר", "حي السلام (3)",
    "bell\x07 and\x1b[31m escape", "n" * 200, "two\nlines\tand a tab", "NA", "Café au lait",
    "𝕬 🏘️", "&lt;b&gt;", "-->",
)  # fmt: skip


def county(folder: Path) -> Results:
    """A made-up county with boroughs, where two wards were never compared."""
    areas = Areas.synthetic(WARDS, rng=3)
    prior, rng = Network(Graph.from_areas(areas)), np.random.default_rng(3)
    truth = Truth.from_priors(prior, Fixed(1.5), Fixed(0.5), rng)
    known = [k for k, item in enumerate(areas.items) if item not in SILENT]
    asked = Truth(
        tuple(areas.items[k] for k in known), truth.quality[known], truth.tie, truth.variance
    )
    counts = simulate_counts(asked, 220, rng)
    names = dict(zip(areas.items, areas.names, strict=True))
    tree = fit(BradleyTerry(counts, prior), Transport(draws=640), rng=1, names=names)
    write_results_folder(tree, folder, wording=RISK, areas=areas)
    return read_results(folder)


def votes(items: Sequence[str], *, seed: int = 4, each: int = 40) -> Counts:
    """Counts of made-up answers about these items."""
    rng = np.random.default_rng(seed)
    size = len(items)
    first, second = np.triu_indices(size, 1)
    answers = rng.multinomial(max(each // max(size - 1, 1), 3), [0.5, 0.3, 0.2], len(first)).T
    return Counts.of(items, first, second, *answers)


def unmapped(folder: Path) -> Results:
    """Six items without a map, with names, fitted quickly."""
    items = tuple("abcdef")
    names = {item: f"Stop {item.upper()}" for item in items}
    tree = fit(BradleyTerry(votes(items)), Laplace(draws=200), rng=2, names=names)
    write_results_folder(tree, folder, wording=Wording(top=2, noun="bus stop"))
    return read_results(folder)


def odd(folder: Path) -> Results:
    """Items with names that are hard on a page, and a question like them."""
    tree = fit(BradleyTerry(votes(ODD)), Laplace(draws=200), rng=2)
    question = 'Which is <b>more</b> "odd" & why, {{ 7 * 7 }}?'
    words = Wording(question=question, higher="<i>odder</i>", lower="מוזר פחות", noun="<u>&/<u>&s")
    write_results_folder(tree, folder, wording=words)
    return read_results(folder)


TURNED = ("מרכז העיר", "حي السلام", "נמל ישן", "السوق القديم")


def turned(folder: Path) -> Results:
    """Names that run from right to left."""
    names = dict(zip("abcd", TURNED, strict=True))
    tree = fit(BradleyTerry(votes(tuple("abcd"))), Laplace(draws=200), rng=2, names=names)
    write_results_folder(tree, folder, wording=Wording(top=1))
    return read_results(folder)


def twins(folder: Path) -> Results:
    """Two items of one name."""
    names = {"1": "Newton", "2": "Newton"}
    tree = fit(BradleyTerry(votes(("1", "2"))), Transport(draws=320), rng=2, names=names)
    write_results_folder(tree, folder, wording=Wording(top=1))
    return read_results(folder)


def point(folder: Path) -> Results:
    """A point estimate: nothing is known of ranks and chances."""
    tree = fit(BradleyTerry(votes(tuple("abcd"), each=60)), MaximumLikelihood(), rng=1)
    write_results_folder(tree, folder, wording=Wording(top=2))
    return read_results(folder)


def alone(folder: Path) -> Results:
    """A map of one area, in degrees."""
    frame = geopandas.GeoDataFrame(
        {"id": ["1"], "name": ["Lone Isle"]}, geometry=[box(0, 60, 0.2, 60.1)], crs="EPSG:4326"
    )
    write_results_folder(
        made_up_tree(1, names=["Lone Isle"]),
        folder,
        wording=Wording(top=1),
        areas=Areas.read(frame),
    )
    return read_results(folder)


def partly(folder: Path) -> Results:
    """Three items and a map without coordinates of three areas, of which two are the same."""
    frame = geopandas.GeoDataFrame(
        {"id": ["1", "2", "elsewhere"]}, geometry=[box(k, 0, k + 1, 1) for k in range(3)]
    )
    write_results_folder(made_up_tree(3), folder, wording=Wording(top=1), areas=Areas.read(frame))
    return read_results(folder)


def thousands(folder: Path) -> Results:
    """Two thousand items, none of them fitted."""
    write_results_folder(made_up_tree(2000), folder, wording=Wording(noun="street"))
    return read_results(folder)


def made_up_tree(size: int, *, names: Sequence[str] | None = None) -> DataTree:
    """Draws of nobody's posterior, as `fit` would leave them."""
    rng = np.random.default_rng(size)
    items = [str(k + 1) for k in range(size)]
    quality = rng.normal(size=size) + 0.3 * rng.normal(size=(4, 50, size))
    sample = ["chain", "draw"]
    posterior = Dataset(
        {
            "quality": ([*sample, "item"], quality),
            "tie": (sample, rng.uniform(0.4, 0.6, (4, 50))),
            "variance": (sample, rng.uniform(0.8, 1.2, (4, 50))),
        },
        coords={"chain": np.arange(4), "draw": np.arange(50), "item": items},
    )
    pair = np.arange(size - 1)
    columns = {"first": pair, "second": pair + 1, "wins_first": pair * 0 + 2, "ties": pair * 0 + 1}
    columns |= {"wins_second": pair * 0 + 1, "stratum": pair * 0}
    times = np.bincount(np.r_[pair, pair + 1], minlength=size) * 4
    constant = Dataset(
        {
            "name": ("item", list(names) if names else [f"Street {item}" for item in items]),
            "comparisons": ("item", times), "prior_sd": ("item", np.ones(size)),
            "skips": 0, "judges": -1,
        },
        coords={"item": items},
    )  # fmt: skip
    observed = Dataset({key: ("pair", column) for key, column in columns.items()})
    tree = DataTree.from_dict(
        {"posterior": posterior, "observed_data": observed, "constant_data": constant}
    )
    model = {
        "quality": {"kind": "independent"},
        "variance": {"kind": "inverse-gamma", "shape": 0.01, "scale": 0.01},
        "tie": {"kind": "exponential", "rate": 0.01},
    }  # fmt: skip
    tree.attrs = {
        "engine": "gibbs", "kind": "exact", "settings": json.dumps({"draws": 200, "chains": 4}),
        "seed": "1", "version": "0.1.0", "digest": "0" * 64, "model": json.dumps(model),
        "build_seconds": 0.0, "sample_seconds": 0.0, "superchains": 0, "warnings": "[]",
        "ess_min": 180.0, "rhat_max": 1.02,
    }  # fmt: skip
    return tree


STUDIES: dict[str, Callable[[Path], Results]] = {
    "county": county, "unmapped": unmapped, "odd": odd, "twins": twins, "point": point,
    "alone": alone, "thousands": thousands,
}  # fmt: skip


# A page, read as a browser reads it.


@dataclass
class Element:
    """A tag with its attributes, and all text below it."""

    tag: str
    attributes: dict[str, str]
    pieces: list[str] = field(default_factory=list)
    inside: list[Element] = field(default_factory=list)

    @property
    def text(self) -> str:
        """The text as it stands, tags left out."""
        return "".join(self.pieces)

    def every(self, tag: str) -> list[Element]:
        """Elements of this tag below this one, in their order."""
        below = [element for child in self.inside for element in child.every(tag)]
        return [self, *below] if self.tag == tag else below

    def all(self) -> list[Element]:
        """This element and everything below it."""
        return [self, *(element for child in self.inside for element in child.all())]

    def by_id(self, name: str) -> Element:
        """The one element of this id."""
        matches = [one for one in self.all() if one.attributes.get("id") == name]
        assert len(matches) == 1, name
        return matches[0]


EMPTY = {"meta", "img", "input", "br", "hr", "link"}


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.stack = [Element("", {})]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        made = Element(tag, {key: value or "" for key, value in attrs})
        self.stack[-1].inside.append(made)
        if tag not in EMPTY:
            self.stack.append(made)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in EMPTY:
            self.stack.pop()

    def handle_endtag(self, tag: str) -> None:
        assert self.stack[-1].tag == tag, f"</{tag}> closes <{self.stack[-1].tag}>"
        self.stack.pop()

    def handle_data(self, data: str) -> None:
        for one in self.stack:
            one.pieces.append(data)


def read_page(text: str) -> Element:
    """The page as a tree; a tag that is not closed in its turn is an error."""
    reader = _Reader()
    reader.feed(text)
    reader.close()
    assert [one.tag for one in reader.stack] == [""]
    return reader.stack[0]


def table_rows(page: Element, name: str) -> list[tuple[Element, list[Element]]]:
    """Every row of the body of a table, with its cells."""
    body = page.by_id(name).every("tbody")[0]
    return [
        (row, [cell for cell in row.inside if cell.tag in ("th", "td")]) for row in body.every("tr")
    ]


def csv_rows(path: Path) -> list[dict[str, str]]:
    """A table as our reader has it, nothing turned into numbers."""
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    return [{restore(key): restore(cell) for key, cell in row.items()} for row in rows]
