"""An area: enlarged for each item, and both marked on the map of all areas."""

from __future__ import annotations

from tiewise.study.study import Item
from tiewise.web.judge.items.kind import ItemKind
from tiewise.web.judge.maps.study_maps import OverviewMap, ShownArea
from tiewise.web.site import Site


def view(site: Site, item: Item) -> ShownArea | None:
    """The area enlarged, where the study has a map with this item."""
    return site.maps.shown(item.id) if site.maps else None


def overview(site: Site, left: Item, right: Item) -> OverviewMap | None:
    """The map of all areas with both marked."""
    return site.maps.pair_overview(left.id, right.id) if site.maps else None


AREA = ItemKind("area", view, overview)
