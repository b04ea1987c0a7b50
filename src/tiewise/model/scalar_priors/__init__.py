"""Priors of the variance α² and the tie threshold δ: these registries, a module for each."""

VARIANCE_PRIORS = {
    "inverse-gamma": "tiewise.model.scalar_priors.inverse_gamma:InverseGamma",
    "half-normal": "tiewise.model.scalar_priors.half_normal_spread:HalfNormalSpread",
    "fixed": "tiewise.model.scalar_priors.fixed:Fixed",
}
"""Every prior of a variance by its name on the command line, and the class that it is."""

TIE_PRIORS = {
    "exponential": "tiewise.model.scalar_priors.exponential:Exponential",
    "gamma": "tiewise.model.scalar_priors.gamma:Gamma",
    "half-normal": "tiewise.model.scalar_priors.half_normal:HalfNormal",
    "uniform": "tiewise.model.scalar_priors.uniform:Uniform",
    "fixed": "tiewise.model.scalar_priors.fixed:Fixed",
}
"""Every prior of δ by its name on the command line, and the class that it is."""
