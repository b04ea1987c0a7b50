"""The tables of a site's database: accounts as studies have them, with roles on top."""

from __future__ import annotations

from pathlib import Path

from sqlalchemy import Boolean, Column, ForeignKey, MetaData, String, Table

from tiewise.study.schema import (
    Migrations,
    audit_log,
    devices,
    researchers,
    sessions,
    sign_in_attempts,
    tokens,
)

metadata = MetaData()
OF_SITES = Migrations(Path(__file__).parent / "migrations", prefix="site")

for table in (researchers, sessions, devices, sign_in_attempts, tokens, audit_log):
    table.to_metadata(metadata)

# What an account may do, and whether in every study.
roles = Table(
    "roles", metadata,
    Column("researcher", ForeignKey("researchers.id"), primary_key=True),
    Column("role", String(16), nullable=False),
    Column("every_study", Boolean, nullable=False),
)  # fmt: skip

# The studies of an account that may not see every study, by their names.
grants = Table(
    "grants", metadata,
    Column("researcher", ForeignKey("researchers.id"), primary_key=True),
    Column("study", String(64), primary_key=True),
)  # fmt: skip

# Studies whose accounts were taken over, each once.
takeovers = Table("takeovers", metadata, Column("study", String(64), primary_key=True))
