"""The pictures of a model's terms, one at a time, each with words to go with it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from tiewise.plots.group_maps import difference_picture, real_picture
from tiewise.plots.terms import coefficient_plot, judge_terms_plot
from tiewise.posterior.term_tables import has
from tiewise.report.terms import alt_text

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from tiewise.report.folder import Results


def term_pictures(results: Results) -> Iterator[tuple[str, str, str, Figure]]:
    """Name, title, words and figure of each picture that the terms allow."""
    tree = results.tree
    if has(tree, "coefficient"):
        name = "coefficients"
        yield name, "What goes with it", alt_text(results, name), coefficient_plot(results)
    if has(tree, "contrast"):
        name = "difference"
        yield name, "Where views differ", alt_text(results, name), difference_picture(results)
        if results.areas is not None:
            name = "difference-real"
            yield name, "How surely they differ", alt_text(results, name), real_picture(results)
    if has(tree, "sharpness") or has(tree, "threshold"):
        name = "judge-terms"
        yield name, "How judges differ", alt_text(results, name), judge_terms_plot(results)
