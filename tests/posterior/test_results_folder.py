"""The results folder is the same when it is read again."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from xarray import open_datatree

from tiewise.data.counts import Counts
from tiewise.engines.laplace import Laplace
from tiewise.engines.maximum_likelihood import MaximumLikelihood
from tiewise.engines.transport import Transport
from tiewise.errors import InputError
from tiewise.geo.areas import Areas
from tiewise.model.bradley_terry import BradleyTerry
from tiewise.model.terms import Groups
from tiewise.posterior.fit import fit
from tiewise.posterior.results_folder import (
    FACTS,
    REQUIRED_FACTS,
    Results,
    Wording,
    fit_facts,
    read_results,
    write_results_folder,
)
from tiewise.posterior.summaries import parameters, summarise
from tiewise.progress import no_progress
from tiewise.randomness import as_seed_sequence
from tiewise.workflows.analyse import analyse

WORDING = Wording(question="Which farm is older?", top=3)


@pytest.fixture(scope="module")
def tree(village):
    names = {"ash": 'The "Ash", upper\nfarm', "oak": "NA"}
    return fit(village.model, Laplace(draws=100), rng=2, names=names)


# Written and read again.


def test_results_read_again_are_the_results_that_were_written(tree, tmp_path):
    written = write_results_folder(tree, tmp_path / "out", wording=WORDING, read_seconds=1.5)
    again = read_results(tmp_path / "out")
    assert again.wording == written.wording == WORDING
    assert again.facts == written.facts
    pd.testing.assert_frame_equal(again.items, summarise(tree, 3), check_dtype=False)
    assert np.array_equal(again.tree["posterior/quality"], tree["posterior/quality"])
    assert again.areas is None
    table = pd.read_csv(tmp_path / "out" / "parameters.csv", index_col="parameter")
    pd.testing.assert_frame_equal(table, parameters(tree))


def test_qualities_are_centred_and_nothing_is_lost(village):
    """Draws as the engine gave them are quality and level together."""
    root = as_seed_sequence(4)
    raw = Transport(draws=100, chains=8).run(village.model, root.spawn(1)[0], no_progress)
    tree = fit(village.model, Transport(draws=100, chains=8), rng=4)
    quality, level = (tree["posterior"][name].to_numpy() for name in ("quality", "level"))
    assert np.allclose(quality.mean(axis=-1), 0, atol=1e-12)
    assert np.allclose(quality + level[..., None], raw.quality, rtol=0, atol=1e-12)
    assert level.std() > 0.01


def test_contrasts_of_groups_are_centred_likewise():
    counts = Counts.of(
        ("a", "b", "c"), [0, 1, 0, 0, 1], [1, 2, 2, 1, 2], [3, 2, 1, 1, 2], [1, 2, 3, 3, 1],
        [1, 0, 1, 0, 1], stratum=[0, 0, 0, 1, 1], strata=("p", "q"),
    )  # fmt: skip
    model = BradleyTerry(counts, terms=(Groups({"p": "old", "q": "young"}),))
    raw = Transport(draws=100, chains=8).run(model, as_seed_sequence(4).spawn(1)[0], no_progress)
    posterior = fit(model, Transport(draws=100, chains=8), rng=4)["posterior"]
    contrast, level = posterior["contrast"], posterior["contrast_level"]
    assert level.dims == ("chain", "draw", "group")
    assert np.allclose(contrast.mean("item"), 0, atol=1e-12)
    assert np.allclose(contrast + level, raw.terms["contrast"], rtol=0, atol=1e-12)


def test_every_variable_says_what_it_is_and_in_which_unit(tmp_path):
    """In posterior.nc, for whoever opens it without this page."""
    judged = pd.DataFrame(
        {
            "user_id": ["p", "q", "r", "p", "q", "r"] * 3,
            "item_1_id": ["a", "b", "c"] * 6,
            "item_2_id": ["b", "c", "a"] * 6,
            "selected_item_id": ["a", "b", "a", "b", "b", ""] * 3,
            "state": ["selected"] * 5 + ["tied"] + ["selected"] * 5 + ["tied"] + ["selected"] * 5
            + ["tied"],
            "sex": ["f", "m", "m"] * 6,
        }
    )  # fmt: skip
    analyse(
        judged, tmp_path / "out", engine=Transport(draws=100, chains=8), rng=1, report=False,
        order=True, judge_groups="sex", sharpness=True, thresholds=True,
    )  # fmt: skip
    with open_datatree(tmp_path / "out" / "posterior.nc", engine="h5netcdf") as stored:
        about = {
            f"{node.path}/{name}": variable.attrs
            for node in stored.subtree
            for name, variable in node.data_vars.items()
        }
    assert len(about) > 25
    for name, attrs in about.items():
        assert {"long_name", "units", "description"} <= set(attrs), name
    assert about["/posterior/quality"]["units"] == "logits"
    assert "centred" in about["/posterior/quality"]["description"]


def test_the_map_is_kept(tree, tmp_path):
    from shapely import box

    items = list(tree["posterior/item"].to_numpy())
    import geopandas

    squares = [box(k, 0, k + 1, 1) for k in range(len(items))]
    frame = geopandas.GeoDataFrame({"id": items}, geometry=squares, crs="EPSG:27700")
    write_results_folder(tree, tmp_path / "out", areas=Areas.read(frame))
    areas = read_results(tmp_path / "out").areas
    assert areas is not None
    assert list(areas.items) == items


def test_a_finish_that_fails_leaves_nothing(tree, tmp_path):
    def fail(results: Results) -> None:
        assert results.items["item"].is_unique
        raise InputError("no ink")

    with pytest.raises(InputError, match="no ink"):
        write_results_folder(tree, tmp_path / "out", finish=fail)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("noun", "one", "many"), [("ward", "ward", "wards"), ("city/cities", "city", "cities")]
)
def test_several_of_a_noun_have_an_s_or_what_is_said(noun, one, many):
    assert (Wording(noun=noun).one, Wording(noun=noun).nouns) == (one, many)


def test_times_add_up(tree, tmp_path):
    seconds = write_results_folder(tree, tmp_path / "out", read_seconds=100).facts["seconds"]
    assert seconds["read"] == 100
    parts = seconds["read"] + seconds["build"] + seconds["sample"]
    assert seconds["total"] == pytest.approx(parts, abs=1e-3)


def test_what_a_point_cannot_say_is_read_again_as_missing(tmp_path):
    counts = Counts.of(("a", "b", "NA"), [0, 1, 2], [1, 2, 0], [3, 3, 3], [1, 1, 1], [1, 1, 1])
    tree = fit(BradleyTerry(counts), MaximumLikelihood(), rng=1)
    write_results_folder(tree, tmp_path / "out", wording=Wording(top=1))
    items = read_results(tmp_path / "out").items
    assert set(items["item"]) == {"a", "b", "NA"}
    assert items["rank_q2.5"].isna().all()
    assert items["top_k_probability"].isna().all()
    assert items["sd"].notna().all()


def test_too_high_a_top_is_lowered(tree, tmp_path):
    items = tree["posterior/quality"].sizes["item"]
    results = write_results_folder(tree, tmp_path / "out", wording=Wording(top=9))
    assert read_results(tmp_path / "out").wording.top == results.wording.top == items - 1
    pd.testing.assert_frame_equal(results.items, summarise(tree, items - 1), check_dtype=False)


def test_too_low_a_top_writes_nothing(tree, tmp_path):
    with pytest.raises(InputError, match="top must be between 1 and"):
        write_results_folder(tree, tmp_path / "out", wording=Wording(top=0))
    assert list(tmp_path.iterdir()) == []


# What is no results folder.


def test_a_folder_without_results_says_what_it_lacks(tmp_path):
    with pytest.raises(InputError, match=r"posterior\.nc.*tiewise fit"):
        read_results(tmp_path)


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("study.json", "{", "study.json is not JSON"),
        ("study.json", "[]", "the file should be names and values in braces, not \\[\\]"),
        ("study.json", '{"top": "five"}', 'top should be a whole number, not "five"'),
        ("study.json", '{"top": true}', "top should be a whole number, not true"),
        ("study.json", '{"top": 0}', "top is 0, not 1 or more"),
        ("study.json", '{"question": ["Which?"]}', "question should be text"),
        ("study.json", '{"groups": null}', "groups should be true or false, not null"),
        ("study.json", '{"noun": {"a": "' + "x" * 9999 + '"}}', "noun should be text"),
        ("study.json", "[" * 99_999, "study.json is not JSON"),
        ("fit.json", "", "fit.json is not JSON"),
        ("fit.json", "{}", "engine is missing"),
        ("fit.json", '{"items": "12"}', 'items should be a whole number, not "12"'),
        ("fit.json", '{"judges": []}', "judges should be a whole number or null"),
        ("fit.json", '{"warnings": [1]}', r"warnings\[1\] should be text"),
        ("fit.json", '{"seconds": {"total": "x"}}', "seconds.total should be a number"),
        ("fit.json", '{"model": "network"}', "model should be names and values in braces"),
        ("posterior.nc", "no such thing", "posterior.nc cannot be read"),
        ("items.csv", "", "items.csv is not as a fit writes it"),
        ("items.csv", "item,mean\n1,2\n", "items.csv is not as a fit writes it"),
        ("items.csv", "item,name,mean\n1,a,much\n", "items.csv is not as a fit writes it"),
        ("items.csv", "item,name,mean\n1,2\n1,2,3,4\n", "items.csv is not as a fit writes it"),
        ("parameters.csv", "", "parameters.csv is not as a fit writes it"),
        ("parameters.csv", "name,mean\n1,2\n", "parameters.csv is not as a fit writes it"),
    ],
)
def test_a_spoilt_file_is_named(folder, tmp_path, name, text, words):
    shutil.copytree(folder, tmp_path / "out")
    (tmp_path / "out" / name).write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=words) as line:
        read_all(tmp_path / "out")
    assert re.search("correct it, or fit again|fit again", str(line.value))
    assert "\n" not in str(line.value)
    assert len(str(line.value)) < 500


def read_all(folder: Path) -> None:
    """Read results and their tables."""
    results = read_results(folder)
    assert results.items is not None
    assert results.parameters is not None


@pytest.fixture(scope="module")
def folder(tree, tmp_path_factory) -> Path:
    """A results folder to copy and spoil."""
    place = tmp_path_factory.mktemp("spoilt") / "out"
    write_results_folder(tree, place)
    return place


def test_facts_that_a_fit_writes_have_the_types_that_are_asked_for(tree):
    """Every one of them is known, and those that are needed are there."""
    facts = fit_facts(tree)
    assert facts.keys() <= FACTS.keys()
    assert facts.keys() >= set(REQUIRED_FACTS)


def test_the_question_may_be_changed_afterwards(tree, tmp_path):
    write_results_folder(tree, tmp_path / "out", wording=WORDING)
    path = tmp_path / "out" / "study.json"
    values = json.loads(path.read_text(encoding="utf-8"))
    path.write_text(json.dumps(values | {"question": "Which is younger?"}), encoding="utf-8")
    assert read_results(tmp_path / "out").wording.question == "Which is younger?"
