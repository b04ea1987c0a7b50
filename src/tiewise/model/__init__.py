"""The Bradley–Terry model with ties: one likelihood, its priors and its terms."""

QUALITY_PRIORS = {
    "independent": "tiewise.model.quality_priors:Independent",
    "network": "tiewise.model.map_priors:Network",
    "distance": "tiewise.model.map_priors:Distance",
    "covariance": "tiewise.model.quality_priors:Covariance",
    "precision": "tiewise.model.quality_priors:Precision",
}
"""Every prior of quality by its name on the command line, and the class that it is."""

PRIOR_SET_NAMES = ("default", "paper")
"""Priors that go together, by their name on the command line: see `prior_sets`."""

BY_GROUP = "by-group"
"""In place of True: groups of judges have a sharpness, threshold or side, not single judges."""
