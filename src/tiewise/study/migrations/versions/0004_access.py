"""Attempts to sign in, for all workers; devices that are known; who may reset a password."""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make the tables. Links and sessions of before reset no password."""
    op.create_table(
        "sign_in_attempts",
        sa.Column("sender", sa.String(length=64), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("until", sa.DateTime(), nullable=False),
        sa.PrimaryKeyConstraint("sender"),
    )
    op.create_table(
        "devices",
        sa.Column("secret", sa.String(length=64), nullable=False),
        sa.Column("researcher", sa.Integer(), nullable=False),
        sa.Column("seen", sa.DateTime(), nullable=False),
        sa.ForeignKeyConstraint(["researcher"], ["researchers.id"]),
        sa.PrimaryKeyConstraint("secret", "researcher"),
    )
    for table in ("sessions", "passes"):
        op.add_column(
            table,
            sa.Column("may_reset", sa.Boolean(), nullable=False, server_default=sa.false()),
        )
