"""What is said of a design: coverage, efficiency by simulation, files, and the command."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from support.command import run as invoke
from tiewise.designs.design_study import default_studies, design_study
from tiewise.designs.efficiency import ADAPTIVE, DESIGN, RANDOM
from tiewise.designs.figures import coverage
from tiewise.designs.pair_lists import REPEAT, ListedPair, PairLists
from tiewise.designs.sentences import table_rows
from tiewise.designs.wish import DesignWish
from tiewise.errors import InputError
from tiewise.planning.crowd import counts_by_size
from tiewise.planning.design import StudyDesign

ITEMS = tuple("abcdef")
LISTS = PairLists(
    {
        "A": (ListedPair("a", "b", "practice"), ListedPair("a", "b"), ListedPair("c", "a"),
              ListedPair("b", "a", REPEAT)),
        "B": (ListedPair("a", "b"), ListedPair("e", "f")),
        "C": (ListedPair("c", "d"), ListedPair("d", "e")),
    }
)  # fmt: skip


def test_coverage_is_counted_by_hand():
    known = coverage(ITEMS, LISTS)
    assert (known.items, known.judges, known.comparisons) == (6, 3, 6)
    assert (known.least, known.most) == (1, 3)
    assert (known.pairs, known.possible_pairs, known.shared_pairs) == (5, 15, 1)
    assert known.uneven_sides == 2  # b: never left, twice right
    assert known.parts == 1
    assert known.pivotal_judges == 3  # A joins c, B joins f, C joins d


def test_a_simulated_crowd_answers_the_pairs_of_its_lists_and_no_others():
    design = StudyDesign(items=ITEMS, lists=LISTS)
    rng = np.random.default_rng(1)
    truth = design.truth(rng)
    ((size, counts),) = counts_by_size(design.crowd, truth, [50], rng, prior=design.prior)
    assert size == 50  # asked for; there are but seven
    asked: dict[frozenset[str], int] = {}
    for pair in LISTS.pairs:
        asked[pair.items] = asked.get(pair.items, 0) + 1
    times = counts.wins_first + counts.wins_second + counts.ties
    answered = {
        frozenset((counts.items[i], counts.items[j])): n
        for i, j, n in zip(counts.first, counts.second, times, strict=True)
    }
    assert answered == asked


def test_lists_in_turn_go_round_the_judges():
    assert [name for name, _ in LISTS.in_turn()] == ["A", "B", "C", "A", "B", "C", "A"]


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"per_judge": 3}, "leave per_judge= and knows= out"),
        ({"judges": 4}, "the design has lists for 3 judges, not 4"),
        ({"items": tuple("abcde")}, "the design compares 'f', not among the 5 items"),
    ],
)
def test_a_plan_refuses_what_contradicts_its_design(more, message):
    with pytest.raises(InputError, match=message):
        replace(StudyDesign(items=ITEMS, lists=LISTS), **more)


def test_a_design_is_assessed_and_written(tmp_path):
    wish = DesignWish(items=ITEMS, judges=("A", "B", "C"), per_judge=6, policy="optimal")
    out = tmp_path / "design"
    assessed = design_study(wish, studies=3, adaptive=False, out=out)
    assert PairLists.read(out / "design.csv") == assessed.design.lists
    facts = json.loads((out / "design.json").read_text(encoding="utf-8"))
    assert facts["coverage"]["comparisons"] == 18
    assert facts["simulated"]["studies"] == 3
    assert 0 < facts["expected_variance"]["design"] < 1
    assert {path.name for path in out.iterdir()} == {
        "design.csv", "design.json", "design.png", "design.svg",
    }  # fmt: skip
    with pytest.raises(InputError, match="is not empty"):
        design_study(wish, studies=0, out=out)
    design_study(wish, studies=0, out=out, force=True)


def test_a_design_is_said_to_be_as_good_as_its_studies_were(tmp_path):
    """Beside random pairs and pairing that adapts: in figures, a table and words, with errors."""
    wish = DesignWish(items=ITEMS, judges=("A", "B", "C"), per_judge=6)
    assessed = design_study(wish, studies=3, out=tmp_path / "design")
    known = assessed.efficiency
    assert (known.studies, set(known.reliability)) == (3, {DESIGN, RANDOM, ADAPTIVE})
    facts = json.loads((tmp_path / "design" / "design.json").read_text(encoding="utf-8"))
    table, words = table_rows(assessed), " ".join(facts["words"])
    assert [row[0] for row in table] == ["this design", "random pairs", "adaptive pairing"]
    for name, (_, reliability, beside) in zip((DESIGN, RANDOM, ADAPTIVE), table, strict=True):
        one = known.reliability[name]
        assert 0 < one.value < 1
        assert one.error > 0
        assert facts["simulated"]["reliability"][name] == {"value": one.value, "error": one.error}
        assert reliability == f"{one.value:.3f} ± {one.error:.3f}"
        assert bool(beside) == (name != DESIGN)
    assert f"Expected reliability: {table[0][1]}, in 3 simulated studies." in words
    for name in ("random pairs", "adaptive pairing"):
        assert f"With {name} the same would take" in words
    assert "All items are connected" in words


@pytest.mark.parametrize("after", [0, 1])
def test_a_simulation_that_is_stopped_leaves_the_design(tmp_path, after):
    """By Ctrl-C: lists, figures and picture are written, and the words say what is missing."""
    wish = DesignWish(items=ITEMS, judges=("A", "B", "C"), per_judge=6)

    def stop(what: str, done: int, total: int) -> None:
        if what.startswith("simulating") and done >= after:
            raise KeyboardInterrupt

    out = tmp_path / "design"
    assessed = design_study(wish, studies=3, adaptive=False, out=out, progress=stop)
    whole = design_study(wish, studies=0)
    assert PairLists.read(out / "design.csv") == whole.design.lists
    facts = json.loads((out / "design.json").read_text(encoding="utf-8"))
    assert facts["simulated"] is None
    assert "The simulation was stopped, so that the expected reliability" in facts["words"][0]
    assert assessed.stopped
    assert not whole.stopped


def test_fewer_studies_are_simulated_where_each_says_more():
    assert [default_studies(items) for items in (2, 500, 1000, 5000, 100_000)] == [40, 40, 20, 4, 4]


def test_the_command_makes_the_design_that_its_twin_makes(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    done = invoke("design", "--items", "8", "--judges", "3", "--per-judge", "7", "--studies", "0")
    assert done.exit_code == 0
    assert "8 items in 21 comparisons by 3 judges" in done.output
    assert "All items are connected" in done.output
    wish = DesignWish(
        items=tuple(map(str, range(1, 9))), judges=("Judge 1", "Judge 2", "Judge 3"), per_judge=7
    )
    assert PairLists.read("design/design.csv") == design_study(wish, studies=0).design.lists
    planned = invoke(
        "plan", "--items", "8", "--design", "design/design.csv", "--reliability", "0.3",
        "--precision", "1", "--json",
    )  # fmt: skip
    assert planned.exit_code == 0
    settings = json.loads(planned.stdout)["settings"]
    digest = PairLists.read("design/design.csv").digest
    assert (settings["judges"], settings["design"]) == (3, digest)


def test_judges_and_groups_come_from_tables(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "items.csv").write_text(
        "item,name,group\n1,One,N\n2,Two,N\n3,Three,S\n4,Four,S\n", encoding="utf-8"
    )
    (tmp_path / "judges.csv").write_text("judge,groups\nAnn,N; S\nBo,S\n", encoding="utf-8")
    options = ["design", "--items", "items.csv", "--judges", "judges.csv", "--studies", "0"]
    assert invoke(*options, "--per-judge", "2").exit_code == 2  # Bo knows one pair
    (tmp_path / "judges.csv").write_text("judge,groups\nAnn,N; S\nBo,S;N\n", encoding="utf-8")
    assert invoke(*options, "--per-judge", "3").exit_code == 0
    assert set(PairLists.read("design/design.csv").lists) == {"Ann", "Bo"}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--judges", "2"], "say what is compared"),
        (["--items", "5", "--edges", "x.csv", "--judges", "2"], "--edges and --items both say"),
        (["--items", "5", "--judges", "2", "--knows", "2"], "there are 0 groups"),
        (["--items", "5", "--judges", "2", "--answers", "4", "--tie-tendency", "1"], "contradict"),
    ],
)
def test_options_that_cannot_be_get_one_line(tmp_path, monkeypatch, options, message):
    monkeypatch.chdir(tmp_path)
    done = invoke("design", "--per-judge", "4", *options)
    assert done.exit_code == 2
    assert message in done.output
    assert len(done.output.strip().splitlines()) == 1
