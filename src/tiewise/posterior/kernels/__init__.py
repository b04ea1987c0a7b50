"""Compiled loops over draws."""
