"""The two studies of the demonstration, with what is true of their items."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from numpy.random import Generator

from tiewise.demo.essays import essays
from tiewise.geo.areas import Areas
from tiewise.geo.graph import Graph
from tiewise.model.map_priors import Network
from tiewise.model.scalar_priors.fixed import Fixed
from tiewise.model.simulate import Truth
from tiewise.study.create import create_study
from tiewise.study.study import Study

WARDS, ESSAYS = 60, 24
COUNTY_TARGET, ESSAY_TARGET = 25, 12
ESSAY_SPREAD = 1.5


@dataclass(frozen=True, slots=True)
class DemoStudy:
    """A made-up study, and the true quality of each of its items."""

    study: Study
    truth: Mapping[str, float]

    @property
    def name(self) -> str:
        """Its name in addresses."""
        return self.study.folder.name


def make_county(folder: Path, files: Path, rng: Generator) -> DemoStudy:
    """Wards on a map, whose neighbours are alike."""
    areas = Areas.synthetic(WARDS, rng=int(rng.integers(2**31)))
    areas.to_gpkg(files / "areas.gpkg")
    prior = Network(Graph.from_areas(areas), share=0.8)
    truth = Truth.from_priors(prior, Fixed(2.0), None, rng)
    study = create_study(
        folder, areas=files / "areas.gpkg", title="Fly-tipping in a made-up county",
        question="Which ward has more fly-tipping?", higher="more fly-tipping",
        lower="less fly-tipping", noun="ward", target=COUNTY_TARGET,
    )  # fmt: skip
    return DemoStudy(study, dict(zip(truth.items, truth.quality, strict=True)))


def make_essays(folder: Path, files: Path, rng: Generator) -> DemoStudy:
    """Essays to be read and compared."""
    quality = rng.normal(size=ESSAYS)
    texts = essays(quality, rng)
    written = files / "essays"
    written.mkdir()
    for name, text in texts.items():
        (written / f"{name}.md").write_text(text, encoding="utf-8")
    study = create_study(
        folder, items=written, title="Essays of a made-up class",
        question="Which is the better essay?", higher="better", lower="weaker",
        noun="essay", target=ESSAY_TARGET,
    )  # fmt: skip
    own = dict(zip(texts, quality * ESSAY_SPREAD, strict=True))
    return DemoStudy(study, {item.id: own[item.name] for item in study.items.values()})
