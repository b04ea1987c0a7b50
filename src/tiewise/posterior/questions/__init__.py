"""Qualities of several questions set beside each other."""
