"""What a fit needs no longer is not kept: a matrix of a thousand items takes 8 MB."""

from __future__ import annotations

from weakref import ref

import numpy as np

from tiewise.data.comparisons import Comparisons
from tiewise.engines.transport import Transport
from tiewise.geo.item_context import ItemContext
from tiewise.workflows.analyse import analyse

ROWS = Comparisons.from_columns(
    judge=["A"] * 5, first=list("abbca"), second=list("bacab"), outcome=["first"] * 5
)


def test_a_matrix_that_was_read_is_gone_while_its_model_is_sampled(tmp_path):
    kept: list[ref[np.ndarray]] = []
    gone: list[bool] = []

    def read() -> ItemContext:
        matrix = np.array([[1.0, 0.5, 0.2], [0.5, 1.0, 0.5], [0.2, 0.5, 1.0]])
        kept.append(ref(matrix))
        return ItemContext(matrix=(matrix, ("a", "b", "c")))

    def progress(what: str, done: int, total: int) -> None:
        gone.append(kept[0]() is None)

    analyse(
        ROWS, tmp_path / "out", context=read, prior="covariance", engine=Transport(draws=200),
        rng=1, report=False, progress=progress,
    )  # fmt: skip
    assert gone
    assert all(gone)
