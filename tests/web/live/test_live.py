"""The live worker, its supervisor and its readers, as real processes on real databases."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from support.everyday import everyday
from tiewise.data.answers import FIRST, SECOND, SKIP, TIE
from tiewise.errors import InputError
from tiewise.geo.areas import Areas
from tiewise.geo.item_context import ItemContext
from tiewise.model.build import build_model
from tiewise.model.prior_sets import prior_set_name
from tiewise.pairing.policies import OrderedPair
from tiewise.pairing.state import PairingState
from tiewise.posterior.fit import fit
from tiewise.posterior.summaries import parameters, summarise
from tiewise.study.connection import now
from tiewise.study.create import create_study
from tiewise.study.export import comparison_rows, comparisons
from tiewise.study.judge_store import JudgeStore
from tiewise.study.researcher_store import ResearcherStore
from tiewise.study.schema import judgements, offers
from tiewise.study.snapshot_store import SnapshotStore
from tiewise.study.study import Study
from tiewise.study.values import Judge, Kind
from tiewise.web.live import cache as cache_module
from tiewise.web.live import worker as worker_module
from tiewise.web.live.cache import Failure, SnapshotCache
from tiewise.web.live.live_fit import LiveFit, failure_message
from tiewise.web.live.reader import JudgementReader
from tiewise.web.live.rhythm import Rhythm
from tiewise.web.live.supervisor import Supervisor

PATIENCE = 120
HANDS = 8


@pytest.fixture(scope="module")
def county(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("county") / "county.gpkg"
    Areas.synthetic(20, rng=1).to_gpkg(path)
    return path


@pytest.fixture
def study(tmp_path, county) -> Study:
    return create_study(tmp_path / "s", question="Which ward is greener?", areas=county)


@pytest.fixture(params=everyday(["sqlite", "postgresql"], "sqlite"))
def database(request) -> str | None:
    """Where a study's database is: in its folder, or on a server."""
    return None if request.param == "sqlite" else request.getfixturevalue("postgresql")()


@pytest.fixture
def store(study) -> Iterator[JudgeStore]:
    opened = study.store()
    yield opened
    opened.close()


def judgement_rows(
    study: Study, number: int, *, judge: str = "ann", seed: int = 1
) -> list[dict[str, str]]:
    """Made-up judgements: the ward with the higher number is the greener, now and then a tie."""
    rng, ids = np.random.default_rng(seed), list(study.items)
    rows = []
    for _ in range(number):
        left, right = rng.choice(len(ids), 2, replace=False)
        answer = "tie" if rng.uniform() < 0.2 else "left" if left > right else "right"
        rows.append({"judge": judge, "left": ids[left], "right": ids[right], "outcome": answer})
    return rows


def tell(study: Study, store: JudgeStore, number: int, **more: Any) -> None:
    store.import_judgements(judgement_rows(study, number, **more), consent="made up")


def live(study: Study, store: JudgeStore) -> LiveFit:
    assert SnapshotStore(store).take_lease("live", "me", 600)
    return LiveFit(study, store, "me")


def renewed(worker: LiveFit) -> Any:
    worker.renew(worker.snapshots.pulse())
    return worker.snapshots.last()


def until(true: Callable[[], Any], what: str) -> Any:
    """Wait for something, as long as it takes on a busy machine."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        result = true()
        if result:
            return result
        time.sleep(0.05)
    raise AssertionError(f"never came: {what}")


def come(store: JudgeStore) -> Judge:
    new = store.add_judge(consent="1", language="en", about={})
    assert new is not None
    return new.judge


# Judgements as arrays.


def as_exported(store: JudgeStore) -> list[tuple[str, str, str, str]]:
    """What counts, by the way that exports go."""
    out = []
    for row in comparison_rows(store):
        answer = {"tied": "tie", "skipped": "skip"}.get(row[5]) or (
            "left" if row[4] == row[2] else "right"
        )
        out.append((row[1], row[2], row[3], answer))
    return out


def as_taken_in(intake: JudgementReader) -> list[tuple[str, str, str, str]]:
    words = {FIRST: "left", SECOND: "right", TIE: "tie", SKIP: "skip"}
    return [
        (intake.judges[judge], intake.items[left], intake.items[right], words[outcome])
        for judge, left, right, outcome in zip(*intake.read()[:4], strict=True)
    ]


def test_what_is_taken_in_piece_by_piece_is_what_would_be_exported(study, database):
    """After answers, practice, repeats, undoing, withdrawals and imports, in any order."""
    store = study.store(database)
    rng, ids = np.random.default_rng(4), list(study.items)
    intake = JudgementReader(store, study.items)
    judges = [come(store) for _ in range(4)]

    def answer(judge: Judge) -> None:
        left, right = rng.choice(ids, 2, replace=False)
        kind = [Kind.NEW, Kind.NEW, Kind.REPEAT, Kind.PRACTICE][int(rng.integers(4))]
        offer = store.open_offer(judge) or store.offer(judge, OrderedPair(left, right), kind)
        store.answer(judge, offer.id, (FIRST, SECOND, TIE, SKIP)[int(rng.integers(4))])

    for turn in range(60):
        judge = judges[int(rng.integers(len(judges)))]
        if rng.uniform() < 0.2:
            store.undo(judge)
        elif turn % 20 == 19:
            judges.remove(judge)
            store.withdraw(judge, judgements_too=True)
            judges.append(come(store))
        elif turn % 15 == 0:
            tell(study, store, 3, seed=turn)
        else:
            answer(judge)
        if rng.uniform() < 0.5:
            assert as_taken_in(intake) == as_exported(store)
    assert as_taken_in(intake) == as_exported(store)
    assert len(as_exported(store)) > 20
    store.close()


def test_a_judgement_that_comes_to_light_late_is_taken_in(study, store):
    """As with PostgreSQL, where numbers are given out before anything is there to be seen."""
    tell(study, store, 600)
    intake = JudgementReader(store, study.items)
    with store.writing() as connection:
        few = judgements.c.id.in_([5, 590])
        held_back = connection.execute(judgements.select().where(few)).mappings().all()
        connection.execute(judgements.delete().where(few))
    assert len(intake.read().judge) == 598
    for row in held_back[::-1]:
        with store.writing() as connection:
            connection.execute(judgements.insert().values(dict(row)))
        assert sorted(as_taken_in(intake)) == sorted(as_exported(store))


def test_seconds_are_from_the_showing_to_the_answer_and_unknown_for_imports(study, store):
    tell(study, store, 1)
    judge = come(store)
    with store.writing() as connection:
        at = now()
        shown = at.replace(microsecond=0)
        made = connection.execute(
            offers.insert().values(
                judge=judge.id, left="1", right="2", kind="new", shown=shown, closed=at
            )
        ).inserted_primary_key
        later = shown.replace(year=shown.year + 1)
        connection.execute(
            judgements.insert().values(offer=made[0], outcome="left", answered=later)
        )
    seconds = JudgementReader(store, study.items).read().seconds
    assert np.isnan(seconds[0])
    assert seconds[1] == (later - shown).total_seconds()


# The picture.


def test_the_picture_is_what_tiewise_fit_finds(study, store):
    tell(study, store, 300)
    tell(study, store, 100, judge="ben", seed=2)
    result = renewed(live(study, store))
    around = ItemContext.read(areas=study.folder / "areas.gpkg", id="id")
    tree = fit(build_model(comparisons(store), around), rng=5)
    table = summarise(tree).set_index("item").loc[result.body["items"]]
    # Two sets of nearly independent draws, the smaller of 1,000: means differ by sd / sqrt(1000).
    error = np.array(table["sd"]) * np.sqrt(1 / 1000 + 1 / 4000)
    assert np.all(np.abs(np.array(table["mean"]) - result.body["mean"]) < 5 * error)
    assert np.all(np.abs(np.array(table["q97.5"]) - result.body["high"]) < 15 * error)
    assert np.allclose(result.body["sd"], table["sd"], rtol=0.15)
    assert np.array_equal(result.body["comparisons"], table["comparisons"])
    threshold = parameters(tree).loc["tie"]
    assert abs(threshold["median"] - result.body["tie"]["median"]) < 0.2 * threshold["sd"]
    assert result.comparisons == 400


@pytest.mark.parametrize("name", ["default", "paper"])
def test_the_picture_has_the_priors_of_the_study(study, store, name):
    path = study.folder / "study.toml"
    path.write_text(path.read_text().replace('priors = "default"', f'priors = "{name}"'))
    study = Study.open(study.folder)
    tell(study, store, 30)
    one = live(study, store)
    renewed(one)
    assert one.model is not None
    assert prior_set_name(one.model.to_dict()) == name


def test_the_body_of_a_snapshot_has_the_keys_that_pages_read(study, store):
    tell(study, store, 200)
    body = renewed(live(study, store)).body
    along = (
        "median", "mean", "sd", "low", "high", "rank", "rank_low", "rank_high", "top",
        "comparisons", "part",
    )  # fmt: skip
    assert set(body) == {
        "items", *along, "top_of", "parts", "tie", "tie_curve", "variance", "answers", "judges",
        "reliability", "engine", "kind", "cautions", "verdict",
    }  # fmt: skip
    assert all(len(body[key]) == 20 for key in along)
    assert sorted(body["items"], key=int) == sorted(study.items, key=int)
    assert sum(body["answers"].values()) == 200
    assert body["judges"] == 1
    assert 0 < body["reliability"] < 1
    assert sum(body["top"]) == pytest.approx(body["top_of"], abs=0.01)
    assert set(body["tie_curve"]) == {"gap", "median", "low", "high"}
    assert all(low <= middle <= high for low, middle, high in zip(
        body["low"], body["median"], body["high"], strict=True
    ))  # fmt: skip


def test_parts_of_the_comparisons_are_labelled_from_the_largest(study, store):
    pairs = [("1", "2"), ("2", "3"), ("4", "5")]
    rows = [{"judge": "a", "left": x, "right": y, "outcome": "left"} for x, y in pairs]
    store.import_judgements(rows, consent="made up")
    body = renewed(live(study, store)).body
    part = dict(zip(body["items"], body["part"], strict=True))
    assert part["1"] == part["2"] == part["3"] == 0
    assert part["4"] == part["5"] == 1
    assert body["parts"] == len(set(part.values())) == 2 + 15


def test_a_study_without_a_map_shows_all_its_items_and_without_ties_none(tmp_path):
    (tmp_path / "list.csv").write_text("name\nash\nbirch\ncedar\nelm\n")
    study = create_study(tmp_path / "s", question="Which is taller?", items=tmp_path / "list.csv")
    path = study.folder / "study.toml"
    path.write_text(path.read_text().replace("ties = true", "ties = false"))
    study = Study.open(study.folder)
    store = study.store()
    rows = [{"judge": "a", "left": "1", "right": "2", "outcome": "left"}] * 3
    store.import_judgements(rows, consent="made up")
    body = renewed(live(study, store)).body
    assert body["items"] == ["1", "2", "3", "4"]
    assert body["comparisons"] == [3, 3, 0, 0]
    assert body["tie"] is body["tie_curve"] is None
    store.close()


def test_one_judgement_is_enough_for_a_picture(study, store):
    tell(study, store, 1)
    result = renewed(live(study, store))
    assert result.comparisons == 1
    assert result.body["cautions"]


def test_an_excluded_judge_is_out_of_the_fit_and_still_in_the_list(study, store):
    tell(study, store, 100)
    tell(study, store, 40, judge="ben", seed=2)
    worker = live(study, store)
    before = renewed(worker)
    ResearcherStore(store).exclude("ben", "said he guessed")
    after = renewed(worker)
    assert (before.comparisons, after.comparisons) == (140, 100)
    assert (before.body["judges"], after.body["judges"]) == (2, 1)
    rows = {row["judge"]: row for row in SnapshotCache(store).judges()}
    assert rows["ben"]["excluded"]
    assert rows["ben"]["comparisons"] == 40
    assert rows["ben"]["agreement"] is not None
    assert not rows["ann"]["excluded"]


def test_standing_knows_what_pairs_are_worth_where_that_is_asked_for(study, store):
    tell(study, store, 100)
    renewed(live(study, store))
    plain = SnapshotCache(store).pairing_state()
    assert isinstance(plain, PairingState)
    assert plain.utility is None
    path = study.folder / "study.toml"
    path.write_text(path.read_text().replace('policy = "uniform"', 'policy = "informative"'))
    renewed(live(Study.open(study.folder), store))
    informed = SnapshotCache(store).pairing_state()
    assert informed.utility.shape == (20, 20)
    assert informed.utility.max() > 0


# When it goes wrong.


def test_what_cannot_be_fitted_is_said_and_mended(study, store, caplog):
    """A judgement of an area that the map does not have."""
    tell(study, store, 50)
    lost = [{"judge": "eve", "left": "1", "right": "Atlantis", "outcome": "left"}]
    store.import_judgements(lost, consent="made up")
    worker = live(study, store)
    with pytest.raises(InputError, match="Atlantis") as caught:
        renewed(worker)
    first = worker.fail(caught.value, None)
    again = worker.fail(caught.value, first)
    failure = SnapshotCache(store).failure()
    assert failure == again
    assert "Atlantis" in failure.message
    assert (failure.since, failure.times) == (first.since, 2)
    ResearcherStore(store).exclude("eve", "there is no such place")
    assert renewed(worker).comparisons == 50
    assert SnapshotCache(store).failure() is None


def test_failures_are_told_without_the_machine_room():
    assert (
        failure_message(InputError("the map is empty; add areas")) == "the map is empty; add areas"
    )
    assert failure_message(MemoryError()) == "There was not enough memory to fit the model."
    assert failure_message(ValueError("first\nsecond")) == "The fit failed (ValueError: first)."


def test_when_no_judgement_counts_any_more_the_last_picture_stays_and_says_so(study, store):
    tell(study, store, 30)
    worker = live(study, store)
    first = renewed(worker)
    ResearcherStore(store).exclude("ann", "a test")
    assert renewed(worker).id == first.id
    assert "No judgement counts" in SnapshotCache(store).failure().message
    assert SnapshotCache(store).judges()[0]["excluded"]
    assert SnapshotCache(store).pairing_state().comparisons.sum() == 0
    ResearcherStore(store).include("ann")
    assert renewed(worker).comparisons == 30
    assert SnapshotCache(store).failure() is None


def test_before_the_first_comparison_there_is_no_picture(study, store):
    skip = [{"judge": "ann", "left": "1", "right": "2", "outcome": "skip"}]
    store.import_judgements(skip, consent="made up")
    assert renewed(live(study, store)) is None
    seen = SnapshotCache(store)
    assert seen.snapshot() is None
    assert seen.failure() is None
    assert seen.judges()[0]["skips"] == 1


# Those who read it.


def test_the_database_is_asked_once_however_many_look(study, store, monkeypatch):
    tell(study, store, 30)
    renewed(live(study, store))
    asked = []
    real = SnapshotStore.versions

    def counted(self: SnapshotStore) -> dict[str, Any]:
        asked.append(1)
        return real(self)

    monkeypatch.setattr(SnapshotStore, "versions", counted)
    monkeypatch.setattr(cache_module, "REFRESH_SECONDS", 3600)
    seen = SnapshotCache(store)
    seen._asked = -3600
    with ThreadPoolExecutor(HANDS) as pool:
        result = list(pool.map(lambda _: (seen.snapshot(), seen.judges()), range(50)))
    assert len(asked) == 1
    assert all(one[0] is result[0][0] and one[1] is result[0][1] for one in result)


def test_what_is_new_is_seen_and_what_is_not_is_not_read_again(study, store, monkeypatch):
    monkeypatch.setattr(cache_module, "REFRESH_SECONDS", 0)
    worker, seen = live(study, store), SnapshotCache(store)
    assert seen.snapshot() is None
    assert seen.pairing_state() is None
    tell(study, store, 30)
    renewed(worker)
    first = seen.snapshot()
    assert first.comparisons == 30
    assert seen.snapshot() is first
    tell(study, store, 5, seed=3)
    renewed(worker)
    assert seen.snapshot().comparisons == 35
    failure = Failure("no", now(), 3)
    SnapshotStore(store).set_current("failure", cache_module.pack_failure(failure))
    assert seen.failure() == failure
    SnapshotStore(store).drop_current("failure")
    assert seen.failure() is None


# Processes.


def workers(folder: Path) -> set[int]:
    """The live workers of a study that run now, whoever started them."""
    result = set()
    for place in Path("/proc").glob("[0-9]*"):
        try:
            words = (place / "cmdline").read_bytes().decode().split("\0")
            state = (place / "stat").read_text().rpartition(")")[2].split()[0]
        except OSError:
            continue
        if "tiewise.web.live.worker" in words and str(folder) in words and state != "Z":
            result.add(int(place.name))
    return result


@pytest.fixture
def supervisors() -> Iterator[list[Supervisor]]:
    supervised: list[Supervisor] = []
    yield supervised
    for supervisor in supervised:
        supervisor.stop()


def in_picture(store: JudgeStore, comparisons: int) -> Callable[[], bool]:
    def look() -> bool:
        last = SnapshotStore(store).last()
        return last is not None and last.comparisons == comparisons

    return look


@pytest.mark.slow
def test_a_worker_killed_comes_back_and_catches_up(study, database, supervisors):
    store = study.store(database)
    supervisors.append(Supervisor(study.folder, store))
    supervisors[0].start()
    tell(study, store, 30)
    until(in_picture(store, 30), "the first picture")
    (worker,) = workers(study.folder)
    os.kill(worker, signal.SIGKILL)
    tell(study, store, 12, seed=2)
    until(in_picture(store, 42), "the picture after the killing")
    assert workers(study.folder) == {supervisors[0].worker} != {worker}
    supervisors[0].stop()
    assert workers(study.folder) == set()
    assert SnapshotStore(store).lease_holder("live") is None
    assert SnapshotStore(store).current("failure") is None
    store.close()


def supervised(study: Study, database: str | None) -> subprocess.Popen[str]:
    """A process as one of the site's, with a supervisor in it."""
    path = Path(__file__).parents[2] / "support" / "live_process.py"
    env = {**os.environ, "TIEWISE_DATABASE": database or ""}
    process = subprocess.Popen(
        [sys.executable, str(path), str(study.folder)], env=env, text=True, stdout=subprocess.PIPE
    )
    process.holder = process.stdout.readline().strip()
    return process


@pytest.mark.slow
def test_of_two_processes_one_has_the_worker_and_the_other_takes_over(study, database):
    store = study.store(database)
    tell(study, store, 30)
    sites = [supervised(study, database) for _ in range(2)]
    try:
        most = 0

        def pictured(comparisons: int) -> Callable[[], bool]:
            def look() -> bool:
                nonlocal most
                most = max(most, len(workers(study.folder)))
                return in_picture(store, comparisons)()

            return look

        until(pictured(30), "the first picture")
        holder = SnapshotStore(store).lease_holder("live")
        first = next(site for site in sites if site.holder == holder)
        (before,) = workers(study.folder)
        first.kill()
        first.wait()
        until(lambda: before not in workers(study.folder), "the end of the orphan")
        tell(study, store, 12, seed=2)
        until(pictured(42), "the picture by the other process")
        other = next(site for site in sites if site is not first)
        assert SnapshotStore(store).lease_holder("live") == other.holder
        assert most == 1
    finally:
        for site in sites:
            site.kill()
            site.wait()
            site.stdout.close()
    until(lambda: not workers(study.folder), "the end of all workers")
    store.close()


def test_a_worker_whose_lease_is_gone_ends_by_itself(study, store):
    snapshots = SnapshotStore(store)
    assert snapshots.take_lease("live", "me", 600)
    env = {**os.environ, "TIEWISE_HOLDER": "me"}
    env.pop("TIEWISE_DATABASE", None)
    worker = subprocess.Popen(
        [sys.executable, "-m", "tiewise.web.live.worker", str(study.folder)], env=env,
        stdin=subprocess.PIPE,
    )  # fmt: skip
    tell(study, store, 10)
    until(in_picture(store, 10), "the picture")
    snapshots.release_lease("live", "me")
    assert snapshots.take_lease("live", "another", 60)
    assert worker.wait(PATIENCE) == 0
    worker.stdin.close()


@pytest.mark.slow
def test_a_worker_that_cannot_start_is_tried_less_and_less_and_the_failure_told(
    study, store, supervisors, monkeypatch
):
    monkeypatch.setattr(sys, "executable", "/bin/false")
    supervisors.append(Supervisor(study.folder, store))
    begun = time.monotonic()
    supervisors[0].start()
    seen = SnapshotCache(store)
    failure = until(
        lambda: (seen.failure() or Failure("", now(), 0)).times >= 4 and seen.failure(), ""
    )
    assert "ended by itself (exit code 1)" in failure.message
    # Pauses of 1, 2 and 4 seconds lie between; a busy machine only makes them longer.
    assert time.monotonic() - begun > 5
    monkeypatch.undo()
    tell(study, store, 10)
    until(in_picture(store, 10), "the picture once it can start")
    assert until(lambda: seen.failure() is None, "the end of the failure")


def test_the_address_of_the_database_is_not_on_the_command_line(study, database, supervisors):
    store = study.store(database)
    supervisors.append(Supervisor(study.folder, store))
    supervisors[0].start()
    worker = until(lambda: supervisors[0].worker, "the worker")
    words = Path(f"/proc/{worker}/cmdline").read_bytes().decode()
    assert "sql" not in words
    assert "TIEWISE_DATABASE=" in Path(f"/proc/{worker}/environ").read_bytes().decode()
    supervisors[0].stop()
    store.close()


def test_stopping_does_not_wait_for_a_fit(study, store):
    supervisor = Supervisor(study.folder, store)
    supervisor.start()
    worker = until(lambda: supervisor.worker, "the worker")
    os.kill(worker, signal.SIGSTOP)  # deep in thought
    supervisor.stop()
    assert not workers(study.folder)
    assert SnapshotStore(store).lease_holder("live") is None


class ThreeFits:
    """A live fit of which the lease is lost after three fits."""

    holder = "me"

    def __init__(self) -> None:
        self.snapshots, self.fits, self.rhythm = self, 0, Rhythm(items=4)

    def lease_holder(self, _: str) -> str | None:
        return "me" if self.fits < 3 else None

    def pulse(self) -> str:
        return str(self.fits)

    def beat(self) -> None:
        pass

    def renew(self, _: str, *, pause: bool = False) -> None:
        self.fits += 1


def test_memory_is_released_after_every_fit(monkeypatch):
    released: list[int] = []
    live = ThreeFits()
    monkeypatch.setattr(worker_module, "sleep", lambda _: None)
    monkeypatch.setattr(worker_module, "collect_and_release", lambda: released.append(live.fits))
    worker_module.run(live)
    assert released == [1, 2, 3]
