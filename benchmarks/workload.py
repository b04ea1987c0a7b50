"""What is run: data sets, engines, and how much work each pair is given.

Only the standard library is imported here and in `benchmarks.engines`: a child's peak memory
counts from its parent's, so the parent stays small.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
STUDIES = ROOT.parent / "shared" / "data"

SIZES = (16, 64, 128, 256, 512, 1024)
ITEMS = {
    "south-yorkshire": 95, "dar-es-salaam": 452, "dar-es-salaam-mixture": 452,
    "independent-1000": 1000, "three-answers-95": 95, "five-answers-95": 95,
} | {f"synthetic-{n}": n for n in SIZES}  # fmt: skip
"""Every data set by name, and its number of items."""

FILES = {
    "south-yorkshire": ("south-yorkshire-comparisons.csv",),
    "dar-es-salaam": ("dar-es-salaam-comparisons.csv", "dar-es-salaam-edges.csv"),
    "dar-es-salaam-mixture": ("dar-es-salaam-comparisons.csv", "dar-es-salaam-edges.csv"),
}

ENGINES = {
    "transport": "Transport, the default",
    "gibbs-as-published": "Gibbs(as_published=True), the paper's updates, errata corrected",
    "gibbs": "Gibbs, improved",
    "metropolis": "Metropolis, the random walk of BSBT",
    "laplace": "Laplace, approximate: its ESS is that of its weights",
    "numpyro": "NumPyro NUTS, non-centred",
    "nutpie": "nutpie NUTS, non-centred",
    "numpyro-whitened": "NumPyro NUTS on our Laplace-whitened coordinates",
    "gaussian-limit": "as many Gaussian draws with a ready factor",
}
"""Every contender by name, and what it is."""

QUICK_DATA = ("south-yorkshire", "synthetic-64", "synthetic-256")


@dataclass(frozen=True)
class Effort:
    """How much work a case is given: kept draws, warm-up, and the seconds it may sample.

    Draws of our engines are shared out over their chains; those of NumPyro and nutpie, and every
    warm-up, are per chain.
    """

    draws: int
    warmup: int = 0
    seconds: float = 300.0


DRAWS = 4000

# A Gibbs sweep is one Cholesky factorisation and, in Dar es Salaam, 150,000 Pólya–Gamma draws.
GIBBS = {
    "dar-es-salaam": Effort(1000, 50),
    "dar-es-salaam-mixture": Effort(1000, 50),
    "independent-1000": Effort(800, 40),
    "synthetic-256": Effort(2000, 100),
    "synthetic-512": Effort(1200, 60),
    "synthetic-1024": Effort(800, 40),
}
METROPOLIS = ("south-yorkshire", "synthetic-16", "synthetic-64", "synthetic-128")
# Their customary settings (1000 + 1000; 400 + 1000) while these are bearable.
NUMPYRO = {
    "dar-es-salaam": Effort(200, 100, 200.0),
    "independent-1000": Effort(300, 300, 120.0),
    "synthetic-512": Effort(500, 500, 120.0),
    "synthetic-1024": Effort(300, 300, 120.0),
}
NUTPIE = {
    "dar-es-salaam": Effort(500, 150, 150.0),
    "independent-1000": Effort(600, 300, 120.0),
    "synthetic-512": Effort(800, 400, 120.0),
    "synthetic-1024": Effort(600, 300, 120.0),
}
WHITENED = {
    "dar-es-salaam": Effort(300, 200, 120.0),
    "synthetic-512": Effort(500, 500, 60.0),
    "synthetic-1024": Effort(300, 300, 120.0),
}


# Data sets that are not for every engine: other samplers were not given a share or cuts to infer.
SOME_ENGINES = {
    "dar-es-salaam-mixture": ("transport", "gibbs"),
    "three-answers-95": ("transport", "gibbs", "laplace"),
    "five-answers-95": ("transport", "gibbs", "laplace"),
    "independent-1000": (
        "transport", "gibbs-as-published", "gibbs", "laplace", "numpyro", "nutpie",
        "gaussian-limit",
    ),
}  # fmt: skip


def effort(engine: str, data: str, *, quick: bool = False) -> Effort | None:
    """The work given to a case; None where it is not run at all."""
    if engine not in SOME_ENGINES.get(data, ENGINES):
        return None
    if quick:
        return _quick(engine, data)
    if engine == "metropolis":
        return Effort(2000, 100) if data in METROPOLIS else None
    if engine.startswith("gibbs"):
        return GIBBS.get(data, Effort(DRAWS, 200))
    if engine == "numpyro":
        return NUMPYRO.get(data, Effort(1000, 1000, 90.0))
    if engine == "nutpie":
        return NUTPIE.get(data, Effort(1000, 400, 90.0))
    if engine == "numpyro-whitened":
        return WHITENED.get(data, Effort(1000, 1000, 60.0))
    return Effort(DRAWS)


def _quick(engine: str, data: str) -> Effort | None:
    if engine == "metropolis" and ITEMS[data] > 100:
        return None
    if engine in ("numpyro", "nutpie", "numpyro-whitened"):
        return Effort(100, 100, 10.0)
    return Effort(DRAWS if engine in ("transport", "gaussian-limit") else 400, 50, 60.0)


def missing() -> list[str]:
    """The real studies that are not beside this checkout."""
    return [
        name
        for name, files in FILES.items()
        if not all((STUDIES / file).exists() for file in files)
    ]
