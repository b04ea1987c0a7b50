"""Reasons and comments to each question of a pair."""

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None

QUESTION = sa.String(length=20)
KEY = ["offer", "question"]


def upgrade() -> None:
    """Let an offer have a comment on each question; those of before are on the pair, ""."""
    if op.get_bind().dialect.name == "sqlite":
        _make_anew()
    else:
        op.add_column(
            "comments", sa.Column("question", QUESTION, nullable=False, server_default="")
        )
        op.drop_constraint("comments_pkey", "comments")
        op.create_primary_key("comments_pkey", "comments", KEY)


def _make_anew() -> None:
    """SQLite changes no primary key: the table is made anew. Nothing refers to it."""
    op.create_table(
        "new_comments",
        sa.Column("offer", sa.Integer(), nullable=False),
        sa.Column("question", QUESTION, nullable=False, server_default=""),
        sa.Column("reasons", sa.Text(), nullable=False),
        sa.Column("comment", sa.Text(), nullable=False),
        sa.Column("written", sa.DateTime(), nullable=False),
        sa.ForeignKeyConstraint(["offer"], ["offers.id"]),
        sa.PrimaryKeyConstraint(*KEY),
    )
    op.execute(
        "INSERT INTO new_comments (offer, reasons, comment, written) "
        "SELECT offer, reasons, comment, written FROM comments"
    )
    op.drop_table("comments")
    op.rename_table("new_comments", "comments")
