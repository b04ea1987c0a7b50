"""Whether a fit can be believed: judges, predictive checks, reliability, models compared."""
