"""What was done in a study, and what its results do not say."""

from __future__ import annotations

from tiewise.posterior.results_folder import Results, Wording
from tiewise.text import quantity


def limits(results: Results) -> list[str]:
    """What the results do not say."""
    wording, facts = results.wording, results.facts
    judges = quantity(facts["judges"], "judge") if facts["judges"] else "the judges"
    sentences = [
        f"These are opinions: they say how {judges} saw these {wording.nouns}, "
        "not what was counted there.",
        _relative(wording),
        f"They are uncertain: {wording.nouns} whose intervals overlap may stand the other way "
        "round.",
    ]
    if results.areas is None:
        return sentences
    whole = f"They are about whole {wording.nouns}, and say nothing of any street or person there."
    return [*sentences, whole]


def _relative(wording: Wording) -> str:
    """What the level of the scale says, and what it does not."""
    if wording.scale == "anchored":
        return (
            f"They are on the scale of the anchors, and as right as the values of those: the "
            f"answers say how {wording.nouns} differ, the anchors alone how high they all are."
        )
    return (
        f"They are relative: each {wording.one} is set against the average of these "
        f"{wording.nouns}, and nothing here says whether that average is high or low."
    )


def what_was_done(results: Results) -> list[str]:
    """The study and its analysis in three sentences."""
    facts, wording = results.facts, results.wording
    judges = quantity(facts["judges"], "judge") if facts["judges"] else "Judges"
    were = "was" if facts["judges"] == 1 else "were"
    ties = f", {facts['ties']:,} of them “about equal”" if facts["ties"] else ""
    model = facts["model"]
    alike = (
        f", taking neighbouring {wording.nouns} to be alike unless the answers say otherwise"
        if model.get("quality", {}).get("kind") == "network"
        else ""
    )
    kind = "Bradley–Terry" + ("" if model.get("tie", {}) is None else " with ties")
    kind += " and graded answers" if model.get("step") else ""
    return [
        f"{judges} {were} shown pairs of {wording.nouns} and asked: {wording.question}",
        f"They gave {quantity(facts['comparisons'], 'answer')} about "
        f"{quantity(facts['items'], wording.one, wording.nouns)}{ties}.",
        f"A statistical model ({kind}) turned the answers into one scale, "
        f"with a measure of how sure it is{alike}.",
    ]
