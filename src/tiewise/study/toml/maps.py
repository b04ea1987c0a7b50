"""`[map]` of a study: what its maps show beside the areas."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tiewise.geo.layer_file import FEATURE_KINDS
from tiewise.study.toml.key_types import Problem

LABELS = ("all", "places", "none")


@dataclass(frozen=True, kw_only=True)
class MapSettings:
    """`[map]`: names on it, layers that help to recognise it, and an enlarged centre."""

    labels: str = LABELS[0]
    """Names of areas, groups and places; of places and landmarks alone; or none."""
    layers: tuple[str, ...] = FEATURE_KINDS
    """Which kinds of `layers.gpkg` are drawn."""
    inset: bool = True
    """Whether a centre of many small areas is also shown enlarged."""


def map_problems(settings: MapSettings) -> Iterator[Problem]:
    """Words that are not known."""
    if settings.labels not in LABELS:
        yield Problem("map.labels", f"{settings.labels!r}; there are {', '.join(LABELS)}")
    for word in settings.layers:
        if word not in FEATURE_KINDS:
            yield Problem("map.layers", f"{word!r}; there are {', '.join(FEATURE_KINDS)}")
