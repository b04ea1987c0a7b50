"""Results made by hand."""

from __future__ import annotations

from dataclasses import replace
from itertools import count

import pytest

from support.handmade_results import RISK, results_of, table_of

TOP2 = replace(RISK, top=2)


@pytest.fixture
def make_results(tmp_path):
    """Results with these chances; every call has a folder of its own."""
    numbers = count()

    def make(chances, *, wording=TOP2, pairs=None, areas=None, facts=None, **columns):
        folder = tmp_path / str(next(numbers))
        table = table_of(chances, **columns)
        return results_of(folder, table, wording=wording, pairs=pairs, areas=areas, **(facts or {}))

    return make
