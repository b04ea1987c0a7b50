"""Reliability in sentences: SSR, split halves, and which of the two to quote."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tiewise.text import percent

ADAPTIVE = "too high where pairs were chosen by what was known already (adaptively)"


def reliability_sentences(facts: Mapping[str, Any], nouns: str) -> list[str]:
    """SSR, split halves or why there are none, and which to quote, of `reliability_facts`."""
    sentences = [*_ssr(facts["ssr"], nouns), *_halves(facts)]
    return [*sentences, which_to_quote(facts)] if facts["ssr"] is not None else sentences


def which_to_quote(facts: Mapping[str, Any]) -> str:
    """Which figure a paper should quote, and why."""
    if facts["split_half"] is not None:
        return (
            "Quote the split halves: they show whether judges agree, whatever the model. SSR rests "
            f"on the model, and can be {ADAPTIVE}."
        )
    return f"Quote SSR, and say that it rests on the model: it can be {ADAPTIVE}."


def _ssr(ssr: float | None, nouns: str) -> list[str]:
    if ssr is None:
        return ["SSR (scale separation reliability) is not known: some standard errors are not."]
    return [
        f"SSR (scale separation reliability) {ssr:.2f}: {percent(ssr)} of the variance between "
        f"{nouns} is known, and the rest is uncertainty."
    ]


def _halves(facts: Mapping[str, Any]) -> list[str]:
    if facts["split_half"] is None:
        left_out = facts.get("split_half_left_out", "")
        return [f"Split-half reliability left out: {left_out}."] if left_out else []
    return [
        f"Split-half reliability {facts['split_half']:.2f} ({facts['split_half_low']:.2f} to "
        f"{facts['split_half_high']:.2f} over random halves of the judges)."
    ]
