"""Anchors of a study: read and refused, kept as they are, in its pairs and in its fits."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

from support.site import copy_study, edited
from tiewise.cli import plan
from tiewise.cli.main import main
from tiewise.cli.study import to_fit
from tiewise.data.answers import FIRST
from tiewise.errors import InputError
from tiewise.model.anchors.anchors import FARTHEST, SUREST
from tiewise.study.checks.check import check_study
from tiewise.study.create import create_study
from tiewise.study.export import export
from tiewise.study.judge_store import JudgeStore
from tiewise.study.settings import SCALES, read_settings
from tiewise.study.snapshot_store import SnapshotStore
from tiewise.study.study import Study, next_offer
from tiewise.study.toml import anchors as settings_of_anchors
from tiewise.study.toml.anchors import read_anchors
from tiewise.web.live.live_fit import LiveFit
from tiewise.web.live.worker import TASK
from tiewise.web.researcher.estimates import ShownScale, item_estimates

ITEMS = "item,name\n" + "".join(f"{one},{one.upper()}\n" for one in "abcdefgh")
TABLE = "item,value,sd\na,3.5,0.1\nb,2.0,0.2\nc,5,0.1\n"
REFERENCE = {'policy = "uniform"': 'policy = "reference"'}


@pytest.fixture(scope="module")
def template(tmp_path_factory) -> Study:
    place = tmp_path_factory.mktemp("anchored")
    (place / "list.csv").write_text(ITEMS, encoding="utf-8")
    (place / "anchors.csv").write_text(TABLE, encoding="utf-8")
    made = create_study(
        place / "s", items=place / "list.csv", question="Which is older?",
        anchors=place / "anchors.csv",
    )  # fmt: skip
    return edited(made, REFERENCE)


@pytest.fixture
def study(template, tmp_path) -> Study:
    return copy_study(template, tmp_path / "s")


def answered(study: Study, number: int = 60) -> JudgeStore:
    """The database of a study in which a is above b, b above c and so on, mostly.

    Where answers are graded, every second choice is a strong one.
    """
    rng, ids, store = np.random.default_rng(1), list(study.items), study.store()
    pairs = [sorted(rng.choice(len(ids), 2, replace=False)) for _ in range(number)]
    rows = [
        {"judge": f"j{k % 4}", "left": ids[one], "right": ids[two],
         "grade": 1 + k // 5 % 2 if study.scale.levels > 1 and k % 5 < 4 else None,
         "outcome": ("left", "left", "left", "right", "tie")[k % 5]}
        for k, (one, two) in enumerate(pairs)
    ]  # fmt: skip
    store.import_judgements(rows, consent="1")
    return store


# Read, and what is wrong refused.


def test_a_table_of_anchors_becomes_settings(template):
    rows = [(one.item, one.value, one.sd) for one in template.settings.anchors]
    assert rows == [("a", 3.5, 0.1), ("b", 2.0, 0.2), ("c", 5.0, 0.1)]
    assert check_study(template.folder) == []


@pytest.mark.parametrize(
    ("table", "words"),
    [
        ("item,value,sd\na,3.5,0.1\nz,2,0.2\n", "anchors: 'z' is not in items.csv; use the ids"),
        ("item,value\na,3.5\nb,2\n", "has no column sd; anchors need item, value and sd"),
        ("item,value,sd\na,3.5,0.1\nb,2,\n", "the sd is a number, and 'b' has none; correct it"),
        ("item,value,sd\na,3.5,0.1\nb,2,wide\n", "the sd is a number, and "),
        ("item,value,sd\na,3.5,0.1\nb,2,0\n", "anchors\\[2\\].sd: 0.0; how far the value may be"),
        ("item,value,sd\na,3.5,0.1\na,2,0.1\n", "anchors\\[2\\].item: 'a' is there twice"),
        ("item,value,sd\na,3.5,0.1\n", "there is one, and the level of their scale is free"),
        ("item,value,sd\n", "anchors"),
    ],
    ids=["stranger", "no sd", "empty sd", "word", "zero", "twice", "one", "none"],
)
def test_a_table_that_will_not_do_makes_no_study(tmp_path, table, words):
    (tmp_path / "list.csv").write_text(ITEMS, encoding="utf-8")
    (tmp_path / "anchors.csv").write_text(table, encoding="utf-8")
    with pytest.raises(InputError, match=words):
        create_study(
            tmp_path / "s", items=tmp_path / "list.csv", question="Which?",
            anchors=tmp_path / "anchors.csv",
        )  # fmt: skip
    assert not (tmp_path / "s").exists()


@pytest.mark.parametrize(
    ("swaps", "words"),
    [
        ({"sd = 0.2\n": "\n"}, "anchors[2].sd: missing"),
        ({'item = "b"': 'item = "z"'}, "anchors: 'z' is not in items.csv; use the ids that it has"),
        ({"value = 2.0": "value = nan"}, "anchors[2].value: nan; a number in logits"),
        ({"sd = 0.2\n": "sd = 1e-9\n"}, "anchors[2].sd: 1e-09; surer than judges can be"),
        ({"value = 2.0": "value = 1500.0"}, "anchors: values are 1,496 logits apart, and nobody"),
        ({"anchor_limit = 100": "anchor_limit = 0"}, "pairing.anchor_limit: 0; show each once"),
    ],
)
def test_anchors_that_are_wrong_are_named_key_by_key(study, swaps, words):
    with pytest.raises(InputError, match="study.toml: "):
        edited(study, swaps)
    (fault,) = check_study(study.folder)
    assert fault.startswith(words)


def test_the_reference_policy_needs_anchors(study):
    path = study.folder / "study.toml"
    text = path.read_text(encoding="utf-8")
    path.write_text(text[: text.index('\n[[anchors]]\nitem = "a"')], encoding="utf-8")
    with pytest.raises(InputError, match="pairing.policy: 'reference' compares items with anchors"):
        read_settings(path)


# Kept as they are.


@pytest.mark.parametrize(
    "swaps", [{"value = 2.0": "value = 2.5"}, {"sd = 0.2\n": "sd = 0.3\n"}], ids=["value", "sd"]
)
def test_anchors_stay_once_there_are_answers(study, swaps):
    store = answered(study)
    assert study.changed_meaning(store) == []
    (fault,) = check_study(edited(study, swaps).folder)
    assert fault.startswith("anchors: answers were given to 'a 3.5 (sd 0.1), b 2.0 (sd 0.2)")
    store.close()


def test_their_order_means_nothing_and_many_have_a_digest(template):
    few = template.settings.anchors
    many = few * 10
    of = type(template.settings)(study=template.settings.study, anchors=few[::-1]).meaning()
    assert of["anchors"] == template.settings.meaning()["anchors"]
    text = type(template.settings)(study=template.settings.study, anchors=many).meaning()
    assert text["anchors"].startswith("30 anchors, digest ")


def test_a_study_that_an_earlier_version_began_had_no_anchors(study):
    """Its database knows the meaning of other keys, and not that of this one."""
    store = answered(study)
    before = {key: text for key, text in study.settings.meaning().items() if key != "anchors"}
    assert store.agreed_meaning(before) == {}
    assert [fault.split(";")[0] for fault in study.changed_meaning(store)] == [
        "anchors: answers were given to 'none', and it now says "
        "'a 3.5 (sd 0.1), b 2.0 (sd 0.2), c 5.0 (sd 0.1)'"
    ]
    store.close()


# In pairs and fits.


def test_judges_are_shown_new_items_with_anchors_until_these_are_used_up(study):
    study = edited(study, {"anchor_limit = 100": "anchor_limit = 2"})
    store, rng, shown = study.store(), np.random.default_rng(1), []
    judge = store.add_judge(consent="1", language="en", about={}).judge
    for _ in range(12):
        offer = next_offer(study, store, judge, rng)
        shown.append({offer.left, offer.right})
        assert store.answer(judge, offer.id, FIRST)
    store.close()
    assert [len(pair & set("abc")) for pair in shown] == [1] * 6 + [0] * 6
    count = Counter(item for pair in shown for item in pair)
    assert (count["a"], count["b"], count["c"]) == (2, 2, 2)


def fitted(study: Study) -> dict[str, Any]:
    """The snapshot of a study with answers."""
    store = answered(study)
    snapshots = SnapshotStore(store)
    assert snapshots.take_lease(TASK, "me", 60)
    LiveFit(study, store, "me").renew(snapshots.pulse())
    body = snapshots.last().body
    store.close()
    return body


def test_the_live_picture_knows_anchors_and_says_which_disagree(study):
    body = fitted(study)
    # The answers have a above c; the anchors have c above a by 1.5, and are surer.
    mean = dict(zip(body["items"], body["mean"], strict=True))
    assert mean["c"] - mean["a"] == pytest.approx(1.5, abs=0.4)
    assert any("anchors disagree with the answers" in caution for caution in body["cautions"])
    # Results are on their scale, as those of a fit.
    assert body["scale"]["name"] == "anchored"
    score = dict(zip(body["items"], body["score"], strict=True))
    level = np.mean([score[item] - mean[item] for item in mean])
    assert [score[item] - mean[item] for item in mean] == pytest.approx([level] * 8, abs=0.001)
    assert score["c"] == pytest.approx(5.0, abs=0.5)


def test_anchors_go_with_graded_answers(study):
    """On the live page, which shows both, and in the meaning that answers are given to."""
    study = edited(study, {"grades = 0": "grades = 5"})
    body = fitted(study)
    mean = dict(zip(body["items"], body["mean"], strict=True))
    assert mean["c"] - mean["a"] == pytest.approx(1.5, abs=0.4)
    assert any("anchors disagree with the answers" in caution for caution in body["cautions"])
    assert body["scale"]["name"] == "anchored"
    assert len(body["cuts"]) == 2
    meaning = study.settings.meaning()
    assert meaning["anchors"] == "a 3.5 (sd 0.1), b 2.0 (sd 0.2), c 5.0 (sd 0.1)"
    run = CliRunner().invoke(
        main, ["fit", str(study.folder), "--seed", "1", "--draws", "400", "--no-report"]
    )
    assert run.exit_code == 0, run.output
    table = (study.folder / "results" / "anchors.csv").read_text(encoding="utf-8")
    assert table.startswith("item,value,sd,expected,expected_sd,z\na,3.5,0.1,")


def fit_options(study: Study, **named: Any) -> dict[str, Any]:
    """What `tiewise fit` of the study's folder makes of these options."""
    plain = dict.fromkeys(
        ("question", "higher", "lower", "noun", "names", "out", "areas", "edges", "id_", "scale",
         "priors", "database", "anchors", "link", "judge_groups", "judges", "ties", "tie_prior")
    )  # fmt: skip
    return to_fit(str(study.folder), plain | named)[1]


def test_a_fit_of_the_folder_has_its_anchors_unless_others_or_none_are_named(study):
    answered(study).close()
    own = {"item": ["a", "b", "c"], "value": [3.5, 2.0, 5.0], "sd": [0.1, 0.2, 0.1]}
    assert fit_options(study)["anchors"] == own
    assert fit_options(study, anchors="other.csv")["anchors"] == "other.csv"
    assert fit_options(study, anchors="none")["anchors"] is None
    assert fit_options(study, link="earlier")["anchors"] is None


def test_anchors_that_nobody_compared_wait(study, capsys):
    store = study.store()
    row = {"judge": "ada", "left": "a", "right": "h", "outcome": "left", "grade": None}
    store.import_judgements([row], consent="1")
    store.close()
    assert fit_options(study)["anchors"] is None
    assert "Fewer than two anchors were compared" in capsys.readouterr().err


def test_results_of_the_folder_are_on_the_scale_of_its_anchors(study):
    answered(study).close()
    words = ["fit", str(study.folder), "--seed", "1", "--draws", "400", "--no-report"]
    run = CliRunner().invoke(main, words)
    assert run.exit_code == 0, run.output
    facts = json.loads((study.folder / "results" / "fit.json").read_text(encoding="utf-8"))
    assert facts["model"]["anchors"]["anchors"][1] == ["b", 2.0, 0.2]
    about = json.loads((study.folder / "results" / "study.json").read_text(encoding="utf-8"))
    assert about["scale"] == "anchored"


def test_an_export_has_the_anchors_as_a_fit_reads_them(study, tmp_path):
    store = answered(study)
    written = export(study, store, tmp_path / "out")
    store.close()
    assert tmp_path / "out" / "anchors.csv" in written
    assert read_anchors(tmp_path / "out" / "anchors.csv") == study.settings.anchors


def test_a_plan_from_a_study_has_its_anchors_policy_and_limit(study, monkeypatch):
    """Unless others are named; `none` leaves them out, which the policy does not allow."""
    study = edited(study, {"anchor_limit = 100": "anchor_limit = 4"})
    answered(study).close()
    designs = []
    monkeypatch.setattr(plan, "_simulate", lambda design, *_: designs.append(design) or 1 / 0)
    words = ["plan", "--from", str(study.folder)]
    run = CliRunner().invoke(main, words)
    assert isinstance(run.exception, ZeroDivisionError)
    own = designs[0].anchors
    assert (designs[0].policy, designs[0].anchor_limit) == ("reference", 4)
    assert (own.items, own.values.tolist()) == (("a", "b", "c"), [3.5, 2.0, 5.0])
    CliRunner().invoke(main, [*words, "--anchors", "none", "--policy", "uniform"])
    assert designs[1].anchors is None
    refused = CliRunner().invoke(main, [*words, "--anchors", "none"])
    assert "compares items with anchors, and there are none" in refused.output


# Scales.


def test_a_scale_is_in_the_figures_of_the_live_picture(study):
    study = edited(study, {'scale = ""': 'scale = "elo"'})
    body = fitted(study)
    assert (body["scale"]["name"], body["scale"]["title"]) == ("elo", "Elo rating")
    step = 400 / np.log(10)
    for score, own in (("score", "mean"), ("score_low", "low"), ("score_high", "high")):
        assert body[score] == pytest.approx(1500 + step * np.array(body[own]), abs=0.01)
    assert body["score_sd"] == pytest.approx(step * np.array(body["sd"]), abs=0.01)
    assert "1500" in body["scale"]["meaning"][0]
    assert fit_options(study)["scale"] == "elo"
    scale = ShownScale.of(body)
    (row,) = [one for one in item_estimates(body, study, scale) if one.item == "a"]
    assert [scale.text(one) for one in (row.estimate, row.low, row.high)] == [
        f"{body[name][0]:.0f}" for name in ("score", "score_low", "score_high")
    ]


def test_a_study_knows_the_scales_that_there_are():
    from tiewise.posterior import scales

    assert tuple(scales.SCALES) == SCALES


def test_a_study_and_a_fit_refuse_the_same_anchors():
    assert (settings_of_anchors.FARTHEST, settings_of_anchors.SUREST) == (FARTHEST, SUREST)


@pytest.mark.parametrize(
    ("scale", "words"), [("stanine", "'stanine'; there are logit, elo"), ("elo", None)]
)
def test_a_scale_that_is_none_is_named(study, scale, words):
    path = study.folder / "study.toml"
    text = path.read_text(encoding="utf-8").replace('scale = ""', f'scale = "{scale}"')
    path.write_text(text, encoding="utf-8")
    faults = check_study(study.folder)
    assert [fault for fault in faults if words and f"model.scale: {words}" in fault] == faults
    assert len(faults) == (words is not None)
