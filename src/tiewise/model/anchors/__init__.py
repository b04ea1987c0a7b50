"""Anchors: what is known of some items from elsewhere."""
