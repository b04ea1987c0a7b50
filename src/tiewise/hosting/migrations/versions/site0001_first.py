"""The first tables of a site: its accounts, their roles, and what was done."""

import sqlalchemy as sa
from alembic import op

revision = "site0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make them."""
    op.create_table(
        "researchers",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("name", sa.String(length=100), nullable=False),
        sa.Column("password", sa.Text(), nullable=True),
        sa.Column("made", sa.DateTime(), nullable=False),
        sa.Column("removed", sa.DateTime(), nullable=True),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("name"),
    )
    op.create_table(
        "sessions",
        sa.Column("secret", sa.String(length=64), nullable=False),
        sa.Column("researcher", sa.Integer(), nullable=False),
        sa.Column("begun", sa.DateTime(), nullable=False),
        sa.Column("seen", sa.DateTime(), nullable=False),
        sa.Column("ended", sa.DateTime(), nullable=True),
        sa.Column("may_reset", sa.Boolean(), nullable=False, server_default=sa.false()),
        sa.ForeignKeyConstraint(["researcher"], ["researchers.id"]),
        sa.PrimaryKeyConstraint("secret"),
    )
    op.create_table(
        "devices",
        sa.Column("secret", sa.String(length=64), nullable=False),
        sa.Column("researcher", sa.Integer(), nullable=False),
        sa.Column("seen", sa.DateTime(), nullable=False),
        sa.ForeignKeyConstraint(["researcher"], ["researchers.id"]),
        sa.PrimaryKeyConstraint("secret", "researcher"),
    )
    op.create_table(
        "sign_in_attempts",
        sa.Column("sender", sa.String(length=64), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("until", sa.DateTime(), nullable=False),
        sa.PrimaryKeyConstraint("sender"),
    )
    op.create_table(
        "passes",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("secret", sa.String(length=64), nullable=False),
        sa.Column("opens", sa.String(length=16), nullable=False),
        sa.Column("label", sa.Text(), nullable=False),
        sa.Column("researcher", sa.Integer(), nullable=True),
        sa.Column("made", sa.DateTime(), nullable=False),
        sa.Column("until", sa.DateTime(), nullable=True),
        sa.Column("ended", sa.DateTime(), nullable=True),
        sa.Column("may_reset", sa.Boolean(), nullable=False, server_default=sa.false()),
        sa.ForeignKeyConstraint(["researcher"], ["researchers.id"]),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("secret"),
    )
    op.create_table(
        "deeds",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("at", sa.DateTime(), nullable=False),
        sa.Column("researcher", sa.Integer(), nullable=True),
        sa.Column("what", sa.String(length=32), nullable=False),
        sa.Column("about", sa.Text(), nullable=False),
        sa.Column("why", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(["researcher"], ["researchers.id"]),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_table(
        "roles",
        sa.Column("researcher", sa.Integer(), nullable=False),
        sa.Column("role", sa.String(length=16), nullable=False),
        sa.Column("every_study", sa.Boolean(), nullable=False),
        sa.ForeignKeyConstraint(["researcher"], ["researchers.id"]),
        sa.PrimaryKeyConstraint("researcher"),
    )
    op.create_table(
        "grants",
        sa.Column("researcher", sa.Integer(), nullable=False),
        sa.Column("study", sa.String(length=64), nullable=False),
        sa.ForeignKeyConstraint(["researcher"], ["researchers.id"]),
        sa.PrimaryKeyConstraint("researcher", "study"),
    )
    op.create_table(
        "takeovers",
        sa.Column("study", sa.String(length=64), nullable=False),
        sa.PrimaryKeyConstraint("study"),
    )
