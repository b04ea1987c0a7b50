"""What an engine would take for many items, said before it begins and not when memory is gone."""

from __future__ import annotations

import logging
import os
import sys
from pathlib import Path

from tiewise.errors import InputError
from tiewise.model.bradley_terry import BradleyTerry
from tiewise.model.map_priors import Network
from tiewise.model.quality_priors import Independent, Precision

log = logging.getLogger("tiewise")

LONG = 120.0  # seconds from which on it is said how long an engine takes
FLOPS = 4e9  # operations a second of one core in a matrix factorisation


CONTROL_GROUPS = Path("/sys/fs/cgroup")
LIMITS = ("memory.max", "memory/memory.limit_in_bytes")
"""Files in which Linux keeps the limit of a container, by the newer rules and the older ones."""


def memory_of_machine() -> int:
    """Bytes of memory that the machine, or our container on it, has.

    As much as one may wish for where nobody can tell.
    """
    if sys.platform == "win32":
        return sys.maxsize
    machine = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    limits = (_number_in(CONTROL_GROUPS / name) for name in LIMITS)
    return min([machine, *(limit for limit in limits if limit is not None)])


def _number_in(file: Path) -> int | None:
    """The number that is all of a file; None where there is no file, or a word such as `max`."""
    try:
        return int(file.read_text(encoding="ascii"))
    except (OSError, ValueError):
        return None


def require_memory(model: BradleyTerry, engine: str, matrices: int) -> None:
    """Raise InputError where so many matrices of items by items do not fit in memory."""
    needed, there = 8 * matrices * model.size**2, memory_of_machine()
    if needed <= 0.8 * there:
        return
    raise InputError(
        f"{engine} would take about {_size(needed)} of memory for {model.size:,} items"
        f"{_reason(model, engine)}, and this machine has {_size(there)}; {_way_out(model, engine)}"
    )


def require_room_for_draws(model: BradleyTerry, engine: str, draws: int) -> None:
    """Raise InputError where draws that an engine keeps in memory, and gathers, do not fit."""
    needed, there = 16 * draws * model.size, memory_of_machine()
    if needed > 0.8 * there:
        raise InputError(
            f"{engine} would take about {_size(needed)} of memory for {draws:,} draws of "
            f"{model.size:,} items, and this machine has {_size(there)}; take fewer (draws=), or "
            "use transport, which keeps them on the disk"
        )


def announce(engine: str, model: BradleyTerry, seconds: float) -> None:
    """Say about how long an engine will take, where that is long."""
    if seconds >= LONG:
        log.warning(
            "%s takes about %s for %s items and %s comparisons ...",
            engine, _duration(seconds), f"{model.size:,}", f"{model.counts.comparisons:,}",
        )  # fmt: skip


def _reason(model: BradleyTerry, engine: str) -> str:
    """What asks for matrices of items by items."""
    if model.terms:
        return " with " + ", ".join(type(term).__name__ for term in model.terms)
    if model.steps:
        return " with graded answers"
    kind = model.prior.to_dict()["kind"]
    return "" if _transport_needs_none(model, engine) else f" with the {kind} prior"


def _way_out(model: BradleyTerry, engine: str) -> str:
    if model.terms:
        return "leave these terms out, or fit fewer items"
    if model.steps:
        how = "fit the answers" if engine.endswith("transport") else "use transport on the answers"
        return f"{how} without their grades, or fit fewer items"
    if _transport_needs_none(model, engine):
        return "use transport, which needs no such matrices"
    return "use transport with an independent prior or a sparse precision, or fit fewer items"


def _transport_needs_none(model: BradleyTerry, engine: str) -> bool:
    """Whether the prior is one that Transport samples without such matrices."""
    if isinstance(model.prior, Network):
        return not engine.endswith("transport") and model.prior.exponential.is_exact
    return isinstance(model.prior, Independent | Precision)


def _size(number: float) -> str:
    """Bytes, for people."""
    return f"{number / 1e9:,.0f} GB" if number >= 1e10 else f"{number / 1e9:.1f} GB"


def _duration(seconds: float) -> str:
    """Seconds, for people."""
    if seconds < 2 * 3600:
        return f"{seconds / 60:.0f} minutes"
    return f"{seconds / 3600:.0f} hours" if seconds < 72 * 3600 else f"{seconds / 86400:,.0f} days"
