"""What was compared, how often, and what to beware of in the data."""

from __future__ import annotations

from tiewise.posterior.judgement_record import grade_counts
from tiewise.posterior.phrases import STRENGTHS, item_labels
from tiewise.posterior.results_folder import Results
from tiewise.report.answer import LONGEST_NAME, fitted_counts
from tiewise.report.section import Bullets, FactList, Section
from tiewise.text import capital, probability_percent, quantity, sentence_list

NO_WARNINGS = "There is nothing in particular to beware of in these data."


def coverage_section(results: Results) -> Section:
    """Data and coverage."""
    cautions = Bullets("Cautions", results.facts["warnings"], otherwise=NO_WARNINGS)
    return Section("data", "Data", "Data and coverage", (FactList(_coverage(results)), cautions))


def _coverage(results: Results) -> list[tuple[str, str]]:
    """Numbers of answers, judges and pairs, and who was compared how often."""
    facts, wording, table = results.facts, results.wording, results.items
    compared, counts, size = table["comparisons"], fitted_counts(results), len(table)
    pairs, possible = len(counts.first), _pairs_among(size)
    fewest = item_labels(table[compared == compared.min()], LONGEST_NAME)
    times = quantity(int(compared.min()), "time") if compared.min() else "never"
    sets = sum(len(part) > 1 for part in counts.components())
    return [
        (capital(wording.nouns), f"{size:,}"),
        ("Comparisons", f"{facts['comparisons']:,}"),
        ("Judges", f"{facts['judges']:,}" if facts["judges"] else "not named in the data"),
        ("Said “about equal”", _with_share(facts["ties"], facts["comparisons"])),
        *_by_strength(results),
        ("Skipped pairs", f"{facts['skips']:,}; they have no part in the estimates"),
        ("Pairs compared",
         f"{_with_share(pairs, possible)} of {quantity(possible, 'possible one')}"),
        (f"Comparisons of each {wording.one}",
         f"fewest {compared.min():,}, median {compared.median():g}, most {compared.max():,}"),
        ("Compared least", f"{sentence_list(list(fewest), 5)} ({times})"),
        ("Sets joined by comparisons",
         "one: all that were compared hang together" if sets == 1 else f"{sets}"),
    ]  # fmt: skip


def _by_strength(results: Results) -> list[tuple[str, str]]:
    """How often an item was chosen how strongly, where answers are graded."""
    counts = grade_counts(results.tree).sum(axis=1)
    levels, total = len(counts) // 2, int(counts.sum())
    if levels == 1:
        return []
    by_strength = counts[levels + 1 :] + counts[:levels][::-1]
    return [
        (f"Said “{word}”, of either", _with_share(int(number), total))
        for word, number in zip(STRENGTHS[levels], by_strength, strict=True)
    ]


def _pairs_among(size: int) -> int:
    return size * (size - 1) // 2


def _with_share(part: int, whole: int) -> str:
    if not part or not whole:
        return f"{part:,}"
    # A count can be all there is; a probability is never certain.
    return f"{part:,} ({'100 %' if part == whole else probability_percent(part / whole)})"
