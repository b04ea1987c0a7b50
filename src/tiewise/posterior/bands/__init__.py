"""Bands: parts of the list that the answers tell apart."""
