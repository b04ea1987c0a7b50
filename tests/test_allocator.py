"""Memory of large arrays goes back to the system when they are freed."""

from __future__ import annotations

import gc
import subprocess
import sys

import pytest

from tiewise.allocator import give_back_matrices, rare_collections

ROUNDS = """
import sys
import numpy as np
from tiewise.allocator import give_back_matrices

def own():
    lines = open("/proc/self/status").read().splitlines()
    return next(int(line.split()[1]) // 1024 for line in lines if line.startswith("RssAnon"))

give_back_matrices(int(sys.argv[1]))
del_first = [np.ones(2**20) for _ in range(12)]  # 8 MB each: glibc learns from those that are freed
del del_first
before = own()
pieces = []
for _ in range(12):
    pieces.append((np.ones(2**20), np.ones(2**13)))
pieces = [small for _, small in pieces]
print(own() - before)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="needs Linux")
def test_matrices_between_what_is_kept_are_given_back():
    """Twelve matrices of 8 MB, each followed by an array that stays."""
    command = [sys.executable, "-c", ROUNDS, "1000"]
    ended = subprocess.run(command, capture_output=True, text=True, check=True)
    assert int(ended.stdout) < 16


@pytest.mark.parametrize("items", [1, 499, 2_000, 100_000])
def test_models_without_matrices_leave_the_allocator_alone(items, monkeypatch):
    """Their arrays come and go in every step, and new memory for each would take longer."""

    def asked() -> None:
        raise AssertionError("nothing is to be set")

    monkeypatch.setattr("tiewise.allocator._glibc", asked)
    give_back_matrices(items)


def test_garbage_is_looked_for_rarely_in_a_command_and_as_before_after_it():
    """Thresholds are raised in the block, and what they were comes back."""
    before = gc.get_threshold()
    with rare_collections():
        assert gc.get_threshold()[0] > before[0]
    assert gc.get_threshold() == before


FIRST_IMPORT = """
import gc
from tiewise.allocator import first_import

with first_import("fractions"):
    import fractions
    assert not gc.isenabled()
assert gc.isenabled() and gc.get_freeze_count()
gc.unfreeze()
with first_import("fractions"):
    assert gc.isenabled()
assert not gc.get_freeze_count()
"""


def test_what_a_first_import_brings_is_left_out_of_searches_for_garbage():
    """Objects are frozen once, when the module is first imported."""
    subprocess.run([sys.executable, "-c", FIRST_IMPORT], check=True)
