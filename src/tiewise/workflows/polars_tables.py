"""Our tables as polars data frames, for those who work with these."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from tiewise.optional import require

if TYPE_CHECKING:
    import polars as pl


def as_polars(table: pd.DataFrame) -> pl.DataFrame:
    """A table of ours as a polars data frame; what is not known is null there, not NaN.

    An index with a name, such as that of `parameters`, becomes the first column. Needs polars.
    """
    require("as_polars", "polars")
    import polars as pl

    named = table.reset_index() if table.index.names != [None] else table
    columns = {str(name): _column(named[name]) for name in named}
    return pl.DataFrame([pl.Series(name, values, strict=False) for name, values in columns.items()])


def _column(values: pd.Series) -> list[object]:
    return values.astype(object).where(values.notna(), None).tolist()
