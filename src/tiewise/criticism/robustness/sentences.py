"""How few answers or judges decide it, in words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tiewise.criticism.robustness.assessment import Fragility
from tiewise.posterior.phrases import standalone_labels
from tiewise.posterior.results_folder import Results, Wording
from tiewise.text import isolate, quantity

LONGEST_NAME = 40
CONFIRMED = "Each number is confirmed by a fit without them."
UPPER_BOUND = (
    "Numbers above 1 are upper bounds: the search goes by influence, and a smaller set may be "
    "enough."
)


def labels(results: Results) -> dict[str, str]:
    """What each item is called in running text, by its id."""
    table = results.items
    names = standalone_labels(table, results.wording, LONGEST_NAME).map(isolate)
    return dict(zip(table["item"], names, strict=True))


def finding_sentence(
    finding: Fragility, wording: Wording, names: Mapping[str, str] | None = None
) -> str:
    """`Leaving out 3 of 883 answers would change the first.`; with `names`, who would then be."""
    change = _change(finding, wording, names)
    if finding.number is None:
        return f"No set of up to {_share(finding, finding.limit)} was found that {change}."
    then = "" if names is None else _then(finding, names)
    return f"Leaving out {_share(finding, finding.number)} {change}{then}."


def finding_sentences(
    findings: Sequence[Fragility], wording: Wording, names: Mapping[str, str] | None = None
) -> list[str]:
    """A sentence for each."""
    return [finding_sentence(finding, wording, names) for finding in findings]


def caution(findings: Sequence[Fragility]) -> str:
    """What the numbers are, and are not."""
    numbers = [finding.number for finding in findings if finding.number is not None]
    if not numbers:
        return ""
    bound = f" {UPPER_BOUND}" if max(numbers) > 1 else ""
    return CONFIRMED + bound


def leading_sentence(findings: Sequence[Fragility], wording: Wording) -> str:
    """The one sentence for a verdict: answers that change the first, or what there is."""
    order = {"first": 0, "top": 1, "average": 2}
    ranked = sorted(findings, key=lambda one: (one.unit != "answers", order[one.kind]))
    return finding_sentence(ranked[0], wording) if ranked else ""


def _share(finding: Fragility, number: int) -> str:
    return f"{number:,} of {quantity(finding.total, finding.unit[:-1])}"


def _change(finding: Fragility, wording: Wording, names: Mapping[str, str] | None) -> str:
    if finding.kind == "average":
        item = finding.items[0]
        name = f"{wording.one} {item}" if names is None else names.get(item, item)
        return f"would put {name} {'below' if finding.above else 'above'} the average"
    top = "first" if finding.kind == "first" else f"top {len(finding.items)}"
    return f"would change the {top}"


def _then(finding: Fragility, names: Mapping[str, str]) -> str:
    if finding.kind == "average":
        return ""
    ahead, behind = (names.get(item, item) for item in (finding.ahead, finding.behind))
    return f": {ahead} would then be ahead of {behind}"
