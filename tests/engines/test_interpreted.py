"""Compiled loops do what they say: the same numbers as without Numba."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np

from support.tiny_fits import every_fit


def test_every_fit_is_the_same_without_a_compiler():
    """One process for all of them, as Numba asks only once whether it may compile."""
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1"}
    done = subprocess.run(
        [sys.executable, "-m", "support.tiny_fits"],
        cwd=Path(__file__).parents[1], env=environment, capture_output=True, text=True, check=True,
    )  # fmt: skip
    interpreted, compiled = json.loads(done.stdout), every_fit()
    assert interpreted.keys() == compiled.keys()
    for name, numbers in compiled.items():
        # In single precision a sum is rounded by the order of its parts, which vectors change.
        close = 1e-3 if "single" in name else 1e-7
        assert np.allclose(interpreted[name], numbers, rtol=close, atol=close), name
