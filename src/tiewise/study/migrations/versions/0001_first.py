"""The tables a study begins with."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make them."""
    op.create_table(
        "erased",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("judge", sa.String(length=64), nullable=False),
        sa.Column("at", sa.DateTime(), nullable=False),
        sa.Column("judgements", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_table(
        "invites",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("code", sa.String(length=64), nullable=False),
        sa.Column("made", sa.DateTime(), nullable=False),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("code"),
    )
    op.create_table(
        "meaning",
        sa.Column("key", sa.String(length=64), nullable=False),
        sa.Column("value", sa.Text(), nullable=False),
        sa.Column("since", sa.DateTime(), nullable=False),
        sa.PrimaryKeyConstraint("key"),
    )
    op.create_table(
        "judges",
        sa.Column("id", sa.String(length=64), nullable=False),
        sa.Column("secret", sa.String(length=64), nullable=False),
        sa.Column("invite", sa.Integer(), nullable=True),
        sa.Column("language", sa.String(length=8), nullable=False),
        sa.Column("consent", sa.String(length=64), nullable=False),
        sa.Column("consented", sa.DateTime(), nullable=False),
        sa.Column("chose", sa.Boolean(), nullable=False),
        sa.Column("withdrawn", sa.DateTime(), nullable=True),
        sa.ForeignKeyConstraint(["invite"], ["invites.id"]),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("invite"),
        sa.UniqueConstraint("secret"),
    )
    op.create_table(
        "known",
        sa.Column("judge", sa.String(length=64), nullable=False),
        sa.Column("group", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(["judge"], ["judges.id"]),
        sa.PrimaryKeyConstraint("judge", "group"),
    )
    op.create_table(
        "offers",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("judge", sa.String(length=64), nullable=False),
        sa.Column("left", sa.Text(), nullable=False),
        sa.Column("right", sa.Text(), nullable=False),
        sa.Column("kind", sa.String(length=8), nullable=False),
        sa.Column("shown", sa.DateTime(), nullable=False),
        sa.Column("closed", sa.DateTime(), nullable=True),
        sa.ForeignKeyConstraint(["judge"], ["judges.id"]),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index("offers_of_judge", "offers", ["judge"], unique=False)
    op.create_index(
        "one_open_offer",
        "offers",
        ["judge"],
        unique=True,
        sqlite_where=sa.text("closed IS NULL"),
        postgresql_where=sa.text("closed IS NULL"),
    )
    op.create_table(
        "said",
        sa.Column("judge", sa.String(length=64), nullable=False),
        sa.Column("field", sa.String(length=64), nullable=False),
        sa.Column("value", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(["judge"], ["judges.id"]),
        sa.PrimaryKeyConstraint("judge", "field"),
    )
    op.create_table(
        "judgements",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("offer", sa.Integer(), nullable=False),
        sa.Column("outcome", sa.String(length=8), nullable=False),
        sa.Column("answered", sa.DateTime(), nullable=False),
        sa.ForeignKeyConstraint(["offer"], ["offers.id"]),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("offer"),
    )
    op.create_table(
        "undone",
        sa.Column("judgement", sa.Integer(), nullable=False),
        sa.Column("at", sa.DateTime(), nullable=False),
        sa.ForeignKeyConstraint(["judgement"], ["judgements.id"]),
        sa.PrimaryKeyConstraint("judgement"),
    )
