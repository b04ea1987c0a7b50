"""Designs: which pairs each judge is to compare, made before the first answer."""

DESIGN_POLICIES = ("balanced", "optimal", "reference")
"""How pairs can be chosen beforehand."""
TARGETS = ("differences", "ranks", "top")
"""What an optimal design is to tell best."""
