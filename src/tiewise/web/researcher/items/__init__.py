"""The page of one item: what it is, its estimate, and every answer about it."""
