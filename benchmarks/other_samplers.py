"""NumPyro and nutpie on the same posterior, each in double precision with two chains.

*Non-centred as a user would write it*: λ = α F η with η ~ N(0, I), sufficient counts, one row for
each pair. *Whitened*: NumPyro on the coordinates of our preconditioner at α̂, λ = λ̂ + W z, log δ and
log α likewise: one affine map, constant, that makes the posterior nearly N(0, I) there.
"""

from __future__ import annotations

from time import perf_counter
from typing import Any

import numpy as np

from benchmarks import numpyro_sampler
from benchmarks.data import load
from benchmarks.memory import peak_mb
from benchmarks.run import Floats, Run, centred
from benchmarks.workload import Effort
from tiewise.engines.threads import one_blas_thread
from tiewise.model.bradley_terry import BradleyTerry

SHAPE = SCALE = RATE = 0.01


def explore(name: str, data: str, effort: Effort) -> Run:
    """A timed run of another sampler; what it compiles is left out of its time."""
    import scipy.linalg  # noqa: F401  its own BLAS must be there to be held to one thread

    with one_blas_thread():
        if name == "nutpie":
            from benchmarks import nutpie_sampler

            return nutpie_sampler.explore(load(data), effort)
        return {"numpyro": _plain, "numpyro-whitened": _whitened}[name](data, effort)


def factor_of(model: BradleyTerry) -> Floats:
    """F with Σ = F Fᵀ; of the identity only the diagonal."""
    return np.ones(model.size) if model.factor is None else np.ascontiguousarray(model.factor)


def _plain(data: str, effort: Effort) -> Run:
    import jax.numpy as jnp
    import numpyro
    import numpyro.distributions as dist

    numpyro.enable_x64()
    model = load(data)
    begun = perf_counter()
    factor = factor_of(model)
    built = perf_counter() - begun
    ties = model.counts.total_ties

    def written(first: Any, second: Any, forth: Any, back: Any, factor: Any) -> None:
        variance = numpyro.sample("variance", dist.InverseGamma(SHAPE, SCALE))
        tie = numpyro.sample("tie", dist.Exponential(RATE))
        raw = numpyro.sample("raw", dist.Normal().expand([factor.shape[-1]]).to_event(1))
        quality = jnp.sqrt(variance) * (factor * raw if factor.ndim == 1 else factor @ raw)
        numpyro.deterministic("quality", quality)
        numpyro.factor("answers", _log_likelihood(quality, tie, first, second, forth, back, ties))

    sample = numpyro_sampler.sample(
        written, (*map(jnp.asarray, model.rows), jnp.asarray(factor)), effort
    )
    return _run(sample, effort, built)


def _log_likelihood(
    quality: Any, tie: Any, first: Any, second: Any, forth: Any, back: Any, ties: int
) -> Any:
    import jax.numpy as jnp
    from jax.nn import log_sigmoid

    gap = quality[first] - quality[second]
    won = jnp.sum(forth * log_sigmoid(gap - tie) + back * log_sigmoid(-gap - tie))
    return won + ties * jnp.log(jnp.expm1(2 * tie))


def _whitened(data: str, effort: Effort) -> Run:
    import jax.numpy as jnp
    import numpyro
    import numpyro.distributions as dist

    from tiewise.engines.preconditioners.plain import build_preconditioner

    numpyro.enable_x64()
    build_preconditioner(load(data))  # compiles
    model = load(data)
    begun = perf_counter()
    preconditioner = build_preconditioner(model)
    prior_precision = np.exp(-2 * preconditioner.warm_start.mode.log_alpha)
    width = 1 / np.sqrt(preconditioner.eigenvalues + prior_precision)
    built = perf_counter() - begun
    ties, rank = model.counts.total_ties, preconditioner.rank

    def written(first: Any, second: Any, forth: Any, back: Any, basis: Any, *line: Any) -> None:
        top, width, lean = line
        q = numpyro.sample("q", dist.Normal().expand([rank + 2]).to_event(1))
        step = width * q[:rank]
        x = top + step
        log_alpha = preconditioner.log_alpha_mean + preconditioner.log_alpha_sd * q[rank]
        log_tie = preconditioner.tie_mode + preconditioner.tie_sd * q[rank + 1]
        log_tie -= lean @ step
        tie = jnp.exp(log_tie)
        quality = numpyro.deterministic("quality", basis @ x)
        numpyro.deterministic("tie", tie)
        numpyro.deterministic("variance", jnp.exp(2 * log_alpha))
        shrink = jnp.exp(-2 * log_alpha)
        prior = -rank * log_alpha - x @ x * shrink / 2
        prior += -2 * SHAPE * log_alpha - SCALE * shrink - RATE * tie + log_tie
        likelihood = _log_likelihood(quality, tie, first, second, forth, back, ties)
        # q was given a density so that it has a place to start; it is taken out again.
        numpyro.factor("posterior", prior + likelihood + q @ q / 2)

    affine = (preconditioner.basis, preconditioner.mode, width, preconditioner.tie_coefficients)
    sample = numpyro_sampler.sample(
        written, tuple(map(jnp.asarray, (*model.rows, *affine))), effort
    )
    return _run(sample, effort, built)


def _run(sample: dict[str, Any], effort: Effort, built: float) -> Run:
    sites = sample["sites"]
    notes = [f"{sample['divergences']} divergences"] if sample["divergences"] else []
    if sample["steps_done"] < effort.warmup + effort.draws:
        notes.insert(0, out_of_time(effort, sample["steps_done"]))
    memory = peak_mb()
    return Run(
        quality=centred(sites["quality"]),
        tie=sites["tie"],
        variance=sites["variance"],
        build_s=built,
        sample_s=sample["seconds"],
        warm_s=sample["warm_seconds"],
        gradients=sample["gradients"],
        warmup_gradients=sample["warmup_gradients"],
        acceptance=sample["acceptance"],
        note="; ".join(notes),
        peak_mb=memory,
    )


def out_of_time(effort: Effort, done: int) -> str:
    """What happened to a run that was stopped by the clock."""
    if done <= effort.warmup:
        return f"ran out of its {effort.seconds:.0f} s at {done} of {effort.warmup} warm-up draws"
    kept = done - effort.warmup
    return f"ran out of its {effort.seconds:.0f} s with {kept} of {effort.draws} draws a chain"
