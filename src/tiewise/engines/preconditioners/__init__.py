"""Coordinates in which a posterior is nearly N(0, I), with the modes and marginals behind them."""
