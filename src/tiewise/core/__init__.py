"""Mathematics on arrays: data, neighbours, priors, the one likelihood."""
