"""Votes of an arena whose answers have a style, as files: `… FOLDER ITEMS COMPARISONS`.

Writes comparisons.csv with three columns of facts, of which no two rows have the same, and
truth.csv.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pandas as pd

from tiewise.data.comparisons import ANSWER_WORDS
from tiewise.model.likelihood import answer_probabilities
from tiewise.model.simulate import random_pairs

FACTS = {"length_diff": (300.0, 0.001), "lists_diff": (4.0, 0.05), "bold_diff": (6.0, 0.0)}
"""The standard deviation of each fact, and what a unit of it is worth."""
TIE = 0.4
FORMULA = " + ".join(FACTS)


def main() -> None:
    """Write the two files."""
    folder, items, comparisons = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    rng = np.random.default_rng(1)
    quality = rng.normal(size=items)
    first, second = random_pairs(items, comparisons, rng)
    facts = {name: np.round(rng.normal(size=comparisons) * sd, 4)
             for name, (sd, _) in FACTS.items()}  # fmt: skip
    gap = quality[first] - quality[second]
    gap += sum(own * facts[name] for name, (_, own) in FACTS.items())
    ahead, tied, _ = answer_probabilities(gap, np.array(TIE))
    uniform = rng.uniform(size=comparisons)
    answer = (uniform >= ahead).astype(int) + (uniform >= ahead + tied)
    names = np.array([str(k + 1) for k in range(items)], object)
    table = {"first": names[first], "second": names[second], "outcome": ANSWER_WORDS[answer]}
    pd.DataFrame({**table, **facts}).to_csv(folder / "comparisons.csv", index=False)
    truth = pd.DataFrame({"item": names, "quality": quality - quality.mean()})
    truth.to_csv(folder / "truth.csv", index=False)


if __name__ == "__main__":
    main()
