"""One case in a process of its own, so that its memory is its own: `python -m benchmarks.case`.

Prints the row of the table as JSON, on the last line of its output.
"""

from __future__ import annotations

import json
import os
import sys
from dataclasses import asdict
from typing import Any

from benchmarks.workload import ITEMS, Effort

# Two chains on two cores: within a chain XLA is to use one thread.
os.environ.setdefault(
    "XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
)


def bare_mb() -> float:
    """Peak memory of a process that has only `import numpy, scipy` behind it."""
    import numpy  # noqa: F401
    import scipy  # noqa: F401

    from benchmarks.memory import peak_mb

    return peak_mb()


def row(engine: str, data: str, effort: Effort) -> dict[str, Any]:
    """The case's row; what means nothing for it is null."""
    bare = bare_mb()
    costs = (
        _limit(ITEMS[data], effort) if engine == "gaussian-limit" else _run(engine, data, effort)
    )
    from benchmarks.data import load

    case = {"engine": engine, "data": data, "items": ITEMS[data]}
    case["comparisons"] = load(data).counts.comparisons
    return {**case, **costs, "bare_mb": bare, "effort": asdict(effort)}


def _limit(size: int, effort: Effort) -> dict[str, Any]:
    from benchmarks import limit
    from benchmarks.memory import peak_mb

    as_it_is, one_thread = limit.seconds(size, effort.draws)
    best = min(as_it_is, one_thread)
    return {
        "build_s": 0.0, "sample_s": best, "diagnose_s": 0.0, "draws": effort.draws,
        "ess_bulk": None, "ess_tail": None, "ess_min": effort.draws,
        "ess_per_s": effort.draws / best, "acceptance": None,
        "gradients_per_effective_draw": None, "peak_mb": peak_mb(), "as_it_is_s": as_it_is,
        "one_thread_s": one_thread,
        "note": "",
    }  # fmt: skip


def _run(engine: str, data: str, effort: Effort) -> dict[str, Any]:
    if engine in ("numpyro", "numpyro-whitened", "nutpie"):
        from benchmarks.other_samplers import explore
    else:
        from benchmarks.tiewise_engines import explore
    run = explore(engine, data, effort).diagnosed()
    bulk, tail, least = run.effective()
    gradients = None if least is None or run.gradients is None else run.gradients / least
    after = None if run.warm_s is None else run.sample_s - run.warm_s
    return {
        "build_s": run.build_s,
        "sample_s": run.sample_s,
        "diagnose_s": run.diagnose_s,
        "fit_s": run.fit_s,
        "draws": int(run.tie.size),
        "ess_bulk": bulk,
        "ess_tail": tail,
        "ess_min": least,
        "ess_per_s": None if least is None else least / run.seconds,
        "ess_per_s_once_warm": least / after if least is not None and after else None,
        "acceptance": run.acceptance,
        "gradients_per_effective_draw": gradients,
        "peak_mb": run.peak_mb,
        "gradients": run.gradients,
        "warmup_gradients": run.warmup_gradients,
        "chains": int(run.tie.shape[0]),
        "tie_mean": float(run.tie.mean()) if run.tie.size else None,
        "variance_mean": float(run.variance.mean()) if run.tie.size else None,
        "note": run.note,
    }


if __name__ == "__main__":
    print(json.dumps(row(sys.argv[1], sys.argv[2], Effort(**json.loads(sys.argv[3])))))
