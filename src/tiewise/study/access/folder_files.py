"""What the folder of a study holds besides its database, its key, its results and its backups."""

from __future__ import annotations

FILES = ("study.toml", "items.csv", "areas.gpkg", "layers.gpkg", "design.csv")
FOLDERS = ("images", "media", "words")
"""Folders of items' files, of their copies, and of the study's own wording."""
PARTS = (*FILES, *FOLDERS)
