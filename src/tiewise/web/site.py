"""The site of a study: everything that its pages are made from."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

from tiewise.study.access.attempts import AttemptStore
from tiewise.study.access.devices import DeviceStore
from tiewise.study.activity import ActivityCache, AnswerTimes
from tiewise.study.judge_store import JudgeStore
from tiewise.study.media.library import MediaItem, MediaLibrary
from tiewise.study.researcher_store import ResearcherStore
from tiewise.study.retention.erase import bare_item
from tiewise.study.study import Item, Study
from tiewise.study.toml.about import logo_faults
from tiewise.study.toml.pairing_policy import BALANCED, UNIFORM, PolicyCache
from tiewise.study.toml.questions import QuestionSettings
from tiewise.study.values import Phase, Researcher
from tiewise.web.assets import MEDIA_TYPES, Asset, ImageFile
from tiewise.web.erasure_watch import ErasureWatch
from tiewise.web.judge.maps.study_maps import StudyMaps
from tiewise.web.live.cache import SnapshotCache
from tiewise.web.phase_cache import PhaseCache
from tiewise.web.researcher.history import SnapshotHistory
from tiewise.web.security import SessionCookies, Throttle
from tiewise.web.serving.health import HealthMonitor
from tiewise.web.serving.options import serving_options
from tiewise.web.serving.outages import OutageMonitor
from tiewise.web.words.language import Language
from tiewise.web.words.of_study import study_languages


class Throttles(NamedTuple):
    """How often each kind of request came in, while this process runs."""

    sign_ups: Throttle
    strangers: Throttle
    posts: Throttle
    programs: Throttle


@dataclass(frozen=True, kw_only=True)
class AccountSite:
    """What it takes to answer at all, and to let people sign in."""

    researcher_store: ResearcherStore
    cookies: SessionCookies
    throttles: Throttles
    attempts: AttemptStore
    """Attempts to sign in, of all workers."""
    devices: DeviceStore
    assets: Mapping[str, Asset]
    public_url: str
    """Where judges reach it, where that is known."""
    prefix: str
    """What stands before every path, where the site is not at the root of its host."""
    hosts: tuple[str, ...]
    """Host names it answers to; () for any."""

    def url(self, path: str) -> str:
        """The path of a page on its host."""
        return self.prefix + path

    def asset_url(self, name: str) -> str:
        """The path of one of our own files; it changes when the file does."""
        return self.url(f"/static/{name}?v={self.assets[name].digest}")


class Hosting(NamedTuple):
    """How a study is one of several of a site, where people sign in once for all of them."""

    site: AccountSite
    session: Callable[[str], Researcher | None]
    """Whose session of the site this is, as a researcher of the study with a role; refused where
    they may not see the study."""
    title: str


@dataclass(frozen=True, kw_only=True)
class Site(AccountSite):
    """Everything that pages are made from."""

    study: Study
    store: JudgeStore
    snapshot_cache: SnapshotCache
    phase_cache: PhaseCache
    erasure_watch: ErasureWatch
    images: Mapping[str, ImageFile]
    maps: StudyMaps | None
    hosting: Hosting | None = None
    preview: bool = False
    """Whether this is a rehearsal: a database of its own, and nothing counts."""
    live: bool = False
    """Whether estimates are kept up to date while the site runs."""
    questions: tuple[QuestionSettings, ...] = ()
    """All questions, where this is the site as if one of them were the only one."""

    @cached_property
    def languages(self) -> Mapping[str, Language]:
        """The languages on offer, by code."""
        return study_languages(self.study)

    @property
    def items(self) -> Mapping[str, Item]:
        """The items as pages show them: bare, once their files and descriptions were erased."""
        return self._bare_items if self.erasure_watch.is_erased() else self.study.items

    @cached_property
    def _bare_items(self) -> dict[str, Item]:
        return {id_: bare_item(item) for id_, item in self.study.items.items()}

    @cached_property
    def media(self) -> MediaLibrary:
        """The copies of items' files."""
        return MediaLibrary.open(self.study.folder)

    def media_of(self, item: Item, *kinds: str) -> MediaItem | None:
        """The copies of an item's file, where it has some of these kinds."""
        media = self.media.items.get(item.file) if item.file else None
        return media if media is not None and media.kind in kinds else None

    def file_url(self, name: str) -> str:
        """The path of a copy of an item's file; it changes when the content does."""
        return self.url(f"/file/{name}")

    @cached_property
    def policy_cache(self) -> PolicyCache:
        """How pairs are chosen now, which can be switched while the site runs."""
        path = self.study.folder / "study.toml"
        return PolicyCache(path, self.study.settings.pairing.policy)

    @property
    def paired_study(self) -> Study:
        """The study with the pairing policy of now; at most a second old."""
        policy = self.policy_cache.policy()
        return self.study if policy == self.study.settings.pairing.policy else self._switched

    @cached_property
    def _switched(self) -> Study:
        """The study with the other of the policies that it can be switched between."""
        settings = self.study.settings
        other = BALANCED if settings.pairing.policy == UNIFORM else UNIFORM
        pairing = replace(settings.pairing, policy=other)
        return replace(self.study, settings=replace(settings, pairing=pairing))

    @cached_property
    def pace(self) -> ActivityCache:
        """How fast judgements come in."""
        return ActivityCache(self.store, self.study.question_id)

    @cached_property
    def answer_times(self) -> AnswerTimes:
        """How long judges take for a comparison."""
        return AnswerTimes(self.store)

    @cached_property
    def logo(self) -> Asset | None:
        """The logo of who runs the study, where there is one that can be shown."""
        about = self.study.settings.about
        if not about.logo or any(logo_faults(about, self.study.folder)):
            return None
        path = self.study.folder / "images" / about.logo
        return Asset(path.read_bytes(), MEDIA_TYPES[path.suffix.lower()])

    @property
    def logo_url(self) -> str:
        """The path of the logo; empty where there is none."""
        return self.url(f"/logo?v={self.logo.digest}") if self.logo else ""

    @cached_property
    def history(self) -> SnapshotHistory:
        """Earlier snapshots of the study."""
        return SnapshotHistory(self.store, tuple(self.study.items), self.study.question_id)

    def asked(self, question: str) -> Site:
        """The site as if one of the study's questions were the only one, by the id of that."""
        return self._by_question.get(question, self)

    @cached_property
    def _by_question(self) -> dict[str, Site]:
        study, store = self.study, self.store
        several = study.settings.questions
        return {
            one.id: replace(
                self,
                study=study.asking(one.id),
                snapshot_cache=SnapshotCache(store, one.id),
                questions=several,
            )
            for one in several
        }

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

    @property
    def accounts(self) -> AccountSite:
        """Where researchers sign in: here, or where the study is one of several."""
        return self if self.hosting is None else self.hosting.site

    def researcher(self, secret: str) -> Researcher | None:
        """Whose session this is, if anybody's."""
        if self.hosting is not None:
            return self.hosting.session(secret)
        return self.researcher_store.session(secret)
