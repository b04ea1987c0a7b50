"""Invitations in somebody's name, links to come back, and identifiers of panels."""

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None

DIGEST = sa.String(length=64)


def upgrade() -> None:
    """Add what is kept of those who were invited, and of those who come from a panel."""
    op.add_column("judges", sa.Column("person", DIGEST))
    op.create_index("one_judge_a_person", "judges", ["person"], unique=True)
    for name in ("label", "mail", "fault"):
        op.add_column("invites", sa.Column(name, sa.Text()))
    for name in ("issued", "sent"):
        op.add_column("invites", sa.Column(name, sa.DateTime()))
    op.create_table(
        "return_links",
        sa.Column("secret", DIGEST, primary_key=True),
        sa.Column("judge", DIGEST, sa.ForeignKey("judges.id"), nullable=False),
        sa.Column("made", sa.DateTime(), nullable=False),
        sa.Column("opened", sa.DateTime()),
    )
    op.create_index("ix_return_links_judge", "return_links", ["judge"])
    op.create_table(
        "identifiers",
        sa.Column("judge", DIGEST, sa.ForeignKey("judges.id"), primary_key=True),
        sa.Column("name", DIGEST, primary_key=True),
        sa.Column("value", sa.Text(), nullable=False),
    )
