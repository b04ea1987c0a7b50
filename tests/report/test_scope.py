"""What was done, and what the results do not say."""

from __future__ import annotations

from dataclasses import replace

from support.handmade_results import RISK
from tiewise.geo.areas import Areas
from tiewise.report.scope import limits, what_was_done


def test_what_was_done_is_told_in_three_sentences(make_results):
    assert what_was_done(make_results([0.5] * 4)) == [
        "15 judges were shown pairs of wards and asked: Which ward has the higher risk?",
        "They gave 900 answers about 4 wards, 120 of them “about equal”.",
        "A statistical model (Bradley–Terry with ties) turned the answers into one scale, with a "
        "measure of how sure it is, taking neighbouring wards to be alike unless the answers say "
        "otherwise.",
    ]


def test_what_was_not_done_is_not_told(make_results):
    plain = {"quality": {"kind": "independent"}, "tie": None}
    one = what_was_done(make_results([0.5] * 4, facts={"judges": 1, "ties": 0, "model": plain}))
    assert one[0].startswith("1 judge was shown")
    assert one[1] == "They gave 900 answers about 4 wards."
    assert one[2] == (
        "A statistical model (Bradley–Terry) turned the answers into one scale, "
        "with a measure of how sure it is."
    )
    nobody = what_was_done(make_results([0.5] * 4, facts={"judges": None}))
    assert nobody[0].startswith("Judges were shown")
    own = what_was_done(make_results([0.5] * 4, facts={"model": {"prior": {"kind": "engine"}}}))
    assert "neighbouring" not in own[2]


def test_the_limits_are_opinions_relations_and_uncertainty(make_results):
    sentences = limits(make_results([0.5] * 4))
    assert [sentence.split(":")[0] for sentence in sentences] == [
        "These are opinions", "They are relative", "They are uncertain",
    ]  # fmt: skip
    assert "how 15 judges saw these wards" in sentences[0]
    assert "how the judges saw" in limits(make_results([0.5] * 4, facts={"judges": None}))[0]


def test_of_areas_it_is_also_sentences_that_they_are_not_their_people(make_results):
    sentences = limits(make_results([0.5] * 4, areas=Areas.synthetic(4, rng=1)))
    assert len(sentences) == 4
    assert "whole wards" in sentences[-1]


def test_anchored_results_are_not_called_relative(make_results):
    """What fixes the level is named in place of the average."""
    plain, anchored = (
        " ".join(limits(make_results([0.1] * 5, wording=replace(RISK, scale=scale))))
        for scale in ("logit", "anchored")
    )
    assert "They are relative" in plain
    assert "They are relative" not in anchored
    assert "the anchors alone how high they all are" in anchored
