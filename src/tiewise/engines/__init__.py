"""Ways to compute the posterior of a model: one module for each engine, and what they share."""
