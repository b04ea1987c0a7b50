"""The site of a study: everything that its pages are made from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from tiewise.study.access.attempts import AttemptStore
from tiewise.study.access.devices import DeviceStore
from tiewise.study.activity import ActivityCache
from tiewise.study.judge_store import JudgeStore
from tiewise.study.researcher_store import ResearcherStore
from tiewise.study.study import Study
from tiewise.study.values import Phase
from tiewise.web.assets import Asset, ImageFile
from tiewise.web.judge.maps import StudyMaps
from tiewise.web.live.cache import SnapshotCache
from tiewise.web.phase_cache import PhaseCache
from tiewise.web.researcher.history import SnapshotHistory
from tiewise.web.security import SessionCookies, Throttle
from tiewise.web.serving.health import HealthMonitor
from tiewise.web.serving.options import serving_options
from tiewise.web.serving.outages import OutageMonitor


class Throttles(NamedTuple):
    """How often each kind of request came in, while this process runs."""

    sign_ups: Throttle
    strangers: Throttle
    posts: Throttle
    programs: Throttle


@dataclass(frozen=True)
class Site:
    """Everything that pages are made from."""

    study: Study
    store: JudgeStore
    researcher_store: ResearcherStore
    snapshot_cache: SnapshotCache
    phase_cache: PhaseCache
    cookies: SessionCookies
    throttles: Throttles
    attempts: AttemptStore
    """Attempts to sign in, of all workers."""
    devices: DeviceStore
    assets: Mapping[str, Asset]
    images: Mapping[str, ImageFile]
    maps: StudyMaps | None
    public_url: str
    """Where judges reach it, where that is known."""
    prefix: str
    """What stands before every path, where the site is not at the root of its host."""
    hosts: tuple[str, ...]
    """Host names it answers to; () for any."""
    live: bool = False
    """Whether estimates are kept up to date while the site runs."""

    @cached_property
    def pace(self) -> ActivityCache:
        """How fast judgements come in."""
        return ActivityCache(self.store)

    @cached_property
    def history(self) -> SnapshotHistory:
        """Earlier snapshots of the study."""
        return SnapshotHistory(self.store, tuple(self.study.items))

    @cached_property
    def health(self) -> HealthMonitor:
        """Whether answers can be kept, and the live picture is renewed."""
        return HealthMonitor(
            self.store, self.study.folder, live=self.live,
            min_free_bytes=serving_options().min_free_bytes,
        )  # fmt: skip

    @cached_property
    def outages(self) -> OutageMonitor:
        """Whether the study is there, and its database can be used."""
        return OutageMonitor(self.study.folder)

    @property
    def phase(self) -> Phase:
        """Whether judges may judge; at most a second old."""
        return self.phase_cache.phase()

    def url(self, path: str) -> str:
        """The path of a page on its host."""
        return self.prefix + path

    def asset_url(self, name: str) -> str:
        """The path of one of our own files; it changes when the file does."""
        return self.url(f"/static/{name}?v={self.assets[name].digest}")
