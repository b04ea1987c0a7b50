"""The search for optimal designs: the variance that is expected, and pairs that make it small."""
