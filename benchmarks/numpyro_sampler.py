"""NumPyro's NUTS on a model: two chains on two cores, in pieces that a clock can stop."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from time import perf_counter
from typing import Any

import numpy as np

from benchmarks.workload import Effort

CHAINS = 2
# So many draws pass between two looks at the clock, which cost about 0.1 ms each.
LONG_PIECE, SHORT_PIECE, MANY_ROWS = 50, 2, 4000


def sample(model: Callable[..., None], inputs: tuple[Any, ...], effort: Effort) -> dict[str, Any]:
    """Draws of each site (chains, draws, ...), warm-up left out, and what they cost.

    NumPyro's own kernel with its own defaults. Compiling and finding a first point are not timed,
    warming up is. A run out of time keeps what it has.
    """
    import jax
    from numpyro.infer import NUTS

    kernel = NUTS(model)
    keys = jax.random.split(jax.random.PRNGKey(1), CHAINS)
    states = [kernel.init(key, effort.warmup, None, inputs, {}) for key in keys]
    length = _piece(effort, len(inputs[0]))

    def one(state: Any, inputs: Any) -> Any:
        def step(state: Any, _: None) -> Any:
            state = kernel.sample(state, inputs, {})
            return state, (state.z, state.num_steps, state.accept_prob, state.diverging)

        return jax.lax.scan(step, state, None, length=length)

    compiled = jax.jit(one).lower(states[0], inputs).compile()
    begun, warm = perf_counter(), []

    def chain(state: Any) -> list[Any]:
        pieces = []
        for done in range(length, effort.warmup + effort.draws + 1, length):
            state, piece = jax.block_until_ready(compiled(state, inputs))
            pieces.append(jax.tree.map(np.asarray, piece))
            if done == effort.warmup:
                warm.append(perf_counter() - begun)
            if perf_counter() - begun > effort.seconds:
                break
        return pieces

    with ThreadPoolExecutor(CHAINS) as pool:
        chains = list(pool.map(chain, states))
    times = {"seconds": perf_counter() - begun, "warm_seconds": max(warm, default=None)}
    return times | _summary(kernel, inputs, chains, effort)


def _piece(effort: Effort, rows: int) -> int:
    piece = LONG_PIECE if rows < MANY_ROWS else SHORT_PIECE
    return next(n for n in range(piece, 0, -1) if not effort.warmup % n and not effort.draws % n)


def _summary(kernel: Any, inputs: Any, chains: list[Any], effort: Effort) -> dict[str, Any]:
    import jax

    joined = [jax.tree.map(lambda *p: np.concatenate(p), *pieces) for pieces in chains]
    shortest = min(len(steps) for _, steps, _, _ in joined)
    samples = [jax.tree.map(lambda a: a[effort.warmup : shortest], chain) for chain in joined]
    z, steps, accepted, diverging = jax.tree.map(lambda *p: np.stack(p), *samples)
    sites = jax.vmap(jax.vmap(kernel.postprocess_fn(inputs, {})))(z)
    return {
        "sites": {name: np.asarray(value) for name, value in sites.items()},
        "gradients": int(steps.sum()),
        "warmup_gradients": sum(int(chain[1][: effort.warmup].sum()) for chain in joined),
        "acceptance": float(accepted.mean()) if accepted.size else None,
        "divergences": int(diverging.sum()),
        "steps_done": shortest,
    }
