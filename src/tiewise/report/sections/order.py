"""Whether the first of a pair has an advantage."""

from __future__ import annotations

from tiewise.posterior.results_folder import Results
from tiewise.posterior.terms.sentences import order_sentences
from tiewise.posterior.terms.tables import has_term
from tiewise.report.section import Paragraphs, PictureRow, Section, not_meant


def order_section(results: Results) -> Section | None:
    """Order, for a model in which the first of a pair may have an advantage."""
    if not has_term(results.tree, "order"):
        return None
    limits = not_meant(
        "This is a habit of answering, or the home ground; it does not say why. Estimates of "
        f"{results.wording.nouns} are freed of it."
    )
    blocks = (Paragraphs(list(order_sentences(results))), PictureRow(()), limits)
    return Section("order", "Order", "Does it matter which one comes first?", blocks)
