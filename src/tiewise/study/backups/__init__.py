"""Backups of a study in one archive, restoring them, and making them while a site runs."""
