"""What is installed here, and what it would run with: the twin of `tiewise doctor`."""

from __future__ import annotations

import os
import platform
import shutil
import sys
import tempfile
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import NamedTuple

from tiewise.optional import EXTRAS, install_command, missing_of

CORE = (
    "numpy", "scipy", "numba", "llvmlite", "pandas", "xarray", "arviz-stats", "h5netcdf", "h5py",
    "narwhals", "click", "rich",
)  # fmt: skip
PROGRAMS = {
    "ffmpeg": "recordings as items",
    "pg_dump": "backups of a study on PostgreSQL",
    "pg_restore": "restoring one",
}
VARIABLES = (
    "NUMBA_CACHE_DIR", "NUMBA_DISABLE_JIT", "NUMBA_NUM_THREADS", "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "PYTHONDONTWRITEBYTECODE", "TIEWISE_DATA_URL",
)  # fmt: skip
"""Variables of the environment that change how Tiewise, or what it stands on, runs."""
LITTLE_ROOM = 1e9
"""Bytes; results of a large study can take as much."""


class Fact(NamedTuple):
    """One thing about the installation: what, how it is, and what to do where it is not well."""

    topic: str
    what: str
    state: str
    advice: str = ""


def examine() -> list[Fact]:
    """Everything that tells installations apart, and advice where something is in the way."""
    return [*_versions(), *_extras(), *_processor(), *_loops(), *_room(), *_programs()]


def _versions() -> Iterator[Fact]:
    yield Fact("Versions", "tiewise", f"{version('tiewise')} in {Path(__file__).parent}")
    yield Fact("Versions", "python", f"{platform.python_version()} in {sys.prefix}")
    yield Fact("Versions", "system", platform.platform())
    for library in CORE:
        try:
            yield Fact("Versions", library, version(library))
        except PackageNotFoundError:
            yield Fact("Versions", library, "missing", "pip install tiewise")


def _extras() -> Iterator[Fact]:
    for extra, libraries in EXTRAS.items():
        missing = missing_of(libraries)
        state = f"without {', '.join(missing)}" if missing else "there"
        yield Fact("Extras", extra, state, install_command([missing[0]]) if missing else "")


def _processor() -> Iterator[Fact]:
    cores = os.cpu_count() or 1
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else cores
    yield Fact("Processor", "cores", f"{cores}, of which {usable} can be used")
    for name, threads in _blas():
        yield Fact("Processor", "BLAS", f"{name}, {threads} threads")
    for name in VARIABLES:
        if (value := os.environ.get(name)) is not None:
            yield Fact("Processor", name, value, _advice(name, value))


def _blas() -> list[tuple[str, int]]:
    """The BLAS libraries that NumPy and SciPy load, and their threads."""
    import scipy.linalg  # noqa: F401
    from threadpoolctl import threadpool_info

    return [
        (f"{one['internal_api']} {one.get('version') or ''}".strip(), one["num_threads"])
        for one in threadpool_info()
        if one["user_api"] == "blas"
    ]


def _advice(name: str, value: str) -> str:
    if name == "NUMBA_DISABLE_JIT" and value not in ("", "0"):
        return "loops are not compiled, and fits take far longer; unset it"
    return ""


def _loops() -> Iterator[Fact]:
    """Where Numba keeps compiled loops, if it can."""
    try:
        from tiewise.model import kernels
    except RuntimeError:  # what Numba raises where it can write nowhere
        yield Fact(
            "Compiled loops", "kept in", "nowhere",
            "no fit is possible; set NUMBA_CACHE_DIR to a folder that can be written",
        )  # fmt: skip
        return
    loops = (getattr(loop, "stats", None) for loop in vars(kernels).values())
    for place in {stats.cache_path for stats in loops if stats is not None} - {None}:
        files = [*Path(place).glob("*.nbc")]
        size = sum(file.stat().st_size for file in files) / 1e6
        yield Fact("Compiled loops", "kept in", f"{place} ({len(files)}, {size:.1f} MB)")


def _room() -> Iterator[Fact]:
    for what, place in (("here", Path.cwd()), ("for a while", Path(tempfile.gettempdir()))):
        free = shutil.disk_usage(place).free
        advice = "results may not fit; make room, or use another disk"
        yield Fact(
            "Disk", what, f"{free / 1e9:,.1f} GB free in {place}",
            advice if free < LITTLE_ROOM else "",
        )  # fmt: skip


def _programs() -> Iterator[Fact]:
    for program, purpose in PROGRAMS.items():
        place = shutil.which(program)
        yield Fact("Programs", program, place or f"not there; only {purpose} need it")
