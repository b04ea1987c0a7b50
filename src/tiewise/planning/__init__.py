"""How many comparisons and judges a study needs, by simulation."""
