"""How few answers or judges decide what the report says, where `tiewise robust` looked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tiewise.criticism.robustness.assessment import Fragility, read_findings
from tiewise.criticism.robustness.sentences import caution, finding_sentence, labels
from tiewise.criticism.verdict import results_verdict
from tiewise.posterior.results_folder import Results
from tiewise.report.section import DataTable, Note, Paragraphs, Section
from tiewise.text import UNKNOWN, capital

LIMITS = (
    "These are the answers that count most, left out on purpose; leaving out as many at random "
    "changes far less. Nor are they wrong: where few decide, neighbours on the list are close."
)


def robustness_section(results: Results) -> Section | None:
    """How few answers decide it; nothing where nobody looked."""
    findings = read_findings(results.folder)
    if not findings or not results_verdict(results).headline:
        # Where it may not be said who is first, nothing is said of what would change it.
        return None
    names = labels(results)
    first = finding_sentence(findings[0], results.wording, names)
    sentences = [text for text in (first, caution(findings)) if text]
    blocks = (Paragraphs(sentences), _table(findings, names), Note(LIMITS))
    return Section("decides", "How few decide it", "How few answers decide it?", blocks)


def _table(findings: Sequence[Fragility], names: Mapping[str, str]) -> DataTable:
    """What would change, and how many of each kind, left out, are enough."""
    units = list(dict.fromkeys(own.unit for own in findings))
    totals = {own.unit: own.total for own in findings}
    rows: dict[str, dict[str, str]] = {}
    for own in findings:
        enough = f"none of up to {own.limit:,}" if own.number is None else f"{own.number:,}"
        rows.setdefault(_conclusion(own, names), {})[own.unit] = enough
    head = ["What would change", *(f"{capital(unit)}, of {totals[unit]:,}" for unit in units)]
    return DataTable(
        head, [[name, *(own.get(unit, UNKNOWN) for unit in units)] for name, own in rows.items()]
    )


def _conclusion(finding: Fragility, names: Mapping[str, str]) -> str:
    name = names.get(finding.items[0], finding.items[0])
    if finding.kind == "average":
        return capital(f"{name} is {'above' if finding.above else 'below'} the average")
    if finding.kind == "first":
        return capital(f"{name} comes first")
    return f"Which {len(finding.items)} are the highest"
