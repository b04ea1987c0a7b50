"""Fits of very many items: figures from all draws, of which only some are kept."""
