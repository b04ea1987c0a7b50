"""Ways to explore a model."""
