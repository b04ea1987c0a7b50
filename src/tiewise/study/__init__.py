"""A running study without HTTP: its settings, its database, its decisions."""
