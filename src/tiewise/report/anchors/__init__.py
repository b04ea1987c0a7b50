"""Anchors in the report."""
