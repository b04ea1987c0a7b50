"""Tables of text without Arrow, and their columns as distinct values.

Arrow reads ten million rows in seconds, and is larger than all else that a fit needs but the
compiler; where it is not installed, tables are read here, to the same rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import narwhals as nw
import numpy as np
from numpy.typing import ArrayLike, NDArray

if TYPE_CHECKING:
    import pandas as pd

Objects = NDArray[np.object_]


def objects(values: Iterable[Any]) -> Objects:
    """Values of any type, each as it is."""
    listed = list(values)
    out = np.empty(len(listed), object)
    out[:] = listed
    return out


def text_table(columns: Mapping[str, Sequence[str]]) -> nw.DataFrame[Any]:
    """Columns of texts as a table."""
    return nw.from_native(object_frame(columns), eager_only=True)


def object_frame(columns: Mapping[str, Iterable[Any]]) -> pd.DataFrame:
    """Columns of any types as a pandas frame, which leaves their values as they are."""
    import pandas as pd

    return pd.DataFrame({name: pd.Series(objects(c), dtype=object) for name, c in columns.items()})


def value_columns(columns: Mapping[str, ArrayLike]) -> pd.DataFrame:
    """Arrays of equal length as a pandas frame."""
    return object_frame({name: np.asarray(values).tolist() for name, values in columns.items()})


def distinct_texts(column: Objects, text: Callable[[Any], str]) -> tuple[list[Any], NDArray[Any]]:
    """The distinct texts of a column of any types, and which of them each row holds."""
    position: dict[str, int] = {}
    code = [position.setdefault(text(value), len(position)) for value in column]
    return list(position), np.array(code, np.int64)


def numbers(column: Objects, number: Callable[[Any], float]) -> NDArray[np.float64]:
    """A column as numbers."""
    return np.fromiter(map(number, column), np.float64, len(column))
