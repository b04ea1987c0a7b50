"""Lists of a design that judges have, and answers that came on paper."""

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make the two tables."""
    op.create_table(
        "lists",
        sa.Column("name", sa.String(length=60), nullable=False),
        sa.Column("judge", sa.String(length=64), nullable=False),
        sa.Column("taken", sa.DateTime(), nullable=False),
        sa.ForeignKeyConstraint(["judge"], ["judges.id"]),
        sa.PrimaryKeyConstraint("name"),
        sa.UniqueConstraint("judge"),
    )
    op.create_table(
        "paper",
        sa.Column("offer", sa.Integer(), nullable=False),
        sa.Column("entered_by", sa.Text(), nullable=False),
        sa.Column("entered", sa.DateTime(), nullable=False),
        sa.ForeignKeyConstraint(["offer"], ["offers.id"]),
        sa.PrimaryKeyConstraint("offer"),
    )
