"""The paper's simulation studies and two more, one module for each."""

EXPERIMENTS = {
    "efficiency": "tiewise.experiments.efficiency:EXPERIMENT",
    "scalability": "tiewise.experiments.scalability:EXPERIMENT",
    "alpha": "tiewise.experiments.alpha:EXPERIMENT",
    "delta": "tiewise.experiments.delta:EXPERIMENT",
    "coverage": "tiewise.experiments.coverage:EXPERIMENT",
    "ties": "tiewise.experiments.ties:EXPERIMENT",
}
"""Every experiment by name."""
