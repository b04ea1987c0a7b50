"""The verdict on a fit: is the computation sound, do the answers suffice, does the model fit them?

Terminal, report, briefing, dashboard and the partners' page show this one (docs/verdict.md).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from xarray import DataTree

from tiewise.criticism.claim import leading_claim
from tiewise.criticism.predictive_checks import DRAWS, Check, predictive_checks, results_checks
from tiewise.criticism.robustness.assessment import read_findings
from tiewise.criticism.robustness.sentences import leading_sentence
from tiewise.criticism.verdict_parts import (
    VerdictPart,
    answers_part,
    computation_part,
    model_part,
    number_of_comparisons,
)
from tiewise.posterior.scales.anchored import contradicted

if TYPE_CHECKING:
    from tiewise.posterior.results_folder import Results

LEVELS = ("good", "care", "stop")
PARTS = ("computation", "answers", "model")
PART_TITLES = ("Computation", "Answers", "Model")
SUMMARIES = {
    "good": "These results can be trusted.",
    "care": "Read these results with care.",
    "stop": "Do not decide anything on these results yet.",
}


@dataclass(frozen=True)
class Verdict:
    """Three answers about a fit, and whether its headline may be stated; else why not."""

    computation: VerdictPart
    answers: VerdictPart
    model: VerdictPart
    withheld: str = ""
    top: int = 5

    @property
    def parts(self) -> tuple[VerdictPart, VerdictPart, VerdictPart]:
        """Computation, answers and model, in this order."""
        return self.computation, self.answers, self.model

    @property
    def level(self) -> str:
        """The worst of the three: green only if all are."""
        return max((part.level for part in self.parts), key=LEVELS.index)

    @property
    def text(self) -> str:
        """The whole in one sentence."""
        return SUMMARIES[self.level]

    @property
    def headline(self) -> bool:
        """Whether it may be said which items are the highest."""
        return not self.withheld

    def to_dict(self) -> dict[str, Any]:
        """Values for JSON: `fit.json` and snapshots hold these."""
        parts = dict(zip(PARTS, self.parts, strict=True))
        return {
            "level": self.level, "text": self.text, "headline": self.headline,
            "withheld": self.withheld, "top": self.top,
            **{name: {"level": part.level, "text": part.text, "reasons": list(part.reasons)}
               for name, part in parts.items()},
        }  # fmt: skip

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Verdict:
        """The verdict that `to_dict` wrote."""
        computation, answers, model = (
            VerdictPart(part["level"], part["text"], tuple(part["reasons"]))
            for part in (values[name] for name in PARTS)
        )
        return cls(computation, answers, model, values["withheld"], int(values["top"]))


def verdict(
    tree: DataTree,
    *,
    top: int = 5,
    checks: Sequence[Check] | None = None,
    draws: int = DRAWS,
    judgements: int | None = None,
) -> Verdict:
    """The verdict on a fit whose report would name the `top` highest.

    `checks` are predictive checks that are at hand; else they are made, from so many `draws` and at
    most so many `judgements`. The same tree gives the same verdict.
    """
    items = tree["posterior/quality"].sizes["item"]
    top = min(top, max(items - 1, 1))
    computation = computation_part(tree.attrs)
    answers = answers_part(tree, leading_claim(tree, top))
    checks = tree_checks(tree, draws, judgements) if checks is None else checks
    model = model_part(checks, number_of_comparisons(tree), contradicted(tree))
    withheld = [part.text for part in (computation, answers, model) if part.level == "stop"]
    return Verdict(computation, answers, model, withheld[0] if withheld else "", top)


def results_verdict(results: Results) -> Verdict:
    """The verdict on a results folder: the one in `fit.json`, or made where that has none.

    Where `tiewise robust` looked how few answers decide it, a sentence says so.
    """
    if "verdict" not in results.cache:
        made = _stored_verdict(results) or verdict(
            results.tree, top=results.wording.top, checks=results_checks(results)
        )
        results.cache["verdict"] = _with_robustness(made, results)
    out: Verdict = results.cache["verdict"]
    return out


def _with_robustness(verdict: Verdict, results: Results) -> Verdict:
    """The verdict with what would change the first, unless that may not be named."""
    findings = read_findings(results.folder) if verdict.headline else ()
    if not findings:
        return verdict
    part = verdict.answers
    sentence = leading_sentence(findings, results.wording)
    return replace(verdict, answers=part._replace(text=f"{part.text} {sentence}"))


def _stored_verdict(results: Results) -> Verdict | None:
    """The verdict in `fit.json`, where it is about the same number of highest items."""
    stored = results.facts.get("verdict")
    top = min(results.wording.top, max(int(results.facts["items"]) - 1, 1))
    return Verdict.from_dict(stored) if stored and stored["top"] == top else None


def tree_checks(tree: DataTree, draws: int = DRAWS, judgements: int | None = None) -> list[Check]:
    """Predictive checks; none of a point estimate, which has no draws."""
    return (
        []
        if tree.attrs["kind"] == "point"
        else predictive_checks(tree, draws=draws, judgements=judgements)
    )
