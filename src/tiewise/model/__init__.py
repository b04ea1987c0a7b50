"""The Bradley–Terry model with ties: one likelihood, its priors and its terms."""
