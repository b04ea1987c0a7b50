"""One maximum-likelihood fit by scikit-learn: `python -m benchmarks.large.logistic FILE`.

As arenas rank by votes: a row for each, +1 for the first item and −1 for the second; a tie is half
a win each way. No penalty, and a sparse design matrix. With scikit-learn's own tolerance (1e-4) it
stops up to three posterior standard deviations short of the maximum, with this one a sixtieth.
"""

from __future__ import annotations

import json
import sys
from typing import Any

import numpy as np
import pandas as pd
from scipy.sparse import csr_matrix

TOLERANCE = 1e-6
COLUMNS = ["item_1_id", "item_2_id", "selected_item_id"]


def design(table: pd.DataFrame) -> tuple[Any, Any, Any]:
    """Rows of the regression: design matrix, who won, and weights."""
    first, second, chosen = (table[name].to_numpy() for name in COLUMNS)
    items, place = np.unique(np.concatenate([first, second]), return_inverse=True)
    one, two = place[: len(first)], place[len(first) :]
    tied = np.flatnonzero(np.isnan(chosen))
    won = (chosen == first).astype(np.int8)
    rows = np.concatenate([np.arange(len(first)), tied])
    ends = np.column_stack([one[rows], two[rows]]).ravel()
    signs = np.tile([1.0, -1.0], len(rows))
    starts = np.arange(0, 2 * len(rows) + 1, 2)
    won = np.concatenate([won, np.ones(len(tied), np.int8)])
    weight = np.ones(len(rows))
    weight[tied] = weight[len(first) :] = 0.5
    return csr_matrix((signs, ends, starts), shape=(len(rows), len(items))), won, weight


def main() -> None:
    """Read, fit, and print what tells whether it was found."""
    from sklearn.linear_model import LogisticRegression

    table = pd.read_csv(sys.argv[1], usecols=COLUMNS)
    matrix, won, weight = design(table)
    model = LogisticRegression(C=np.inf, fit_intercept=False, max_iter=1000, tol=TOLERANCE)
    model.fit(matrix, won, sample_weight=weight)
    quality = model.coef_[0] - model.coef_[0].mean()
    facts = {"rounds": int(model.n_iter_[0]), "spread": float(quality.std())}
    print(json.dumps({**facts, "rows": matrix.shape[0]}))


if __name__ == "__main__":
    main()
