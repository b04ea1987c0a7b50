"""Several questions of one pair, answers that are half given, reasons, snapshots by question."""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None

QUESTION = sa.String(length=20)


def upgrade() -> None:
    """Let an offer have one answer to each question; those of before are to the only one, ""."""
    if op.get_bind().dialect.name == "sqlite":
        _make_anew()
    else:
        op.add_column(
            "judgements", sa.Column("question", QUESTION, nullable=False, server_default="")
        )
        op.drop_constraint("judgements_offer_key", "judgements")
        op.create_unique_constraint("one_answer", "judgements", ["offer", "question"])
    op.add_column("snapshots", sa.Column("question", QUESTION, nullable=False, server_default=""))
    op.create_table(
        "drafts",
        sa.Column("offer", sa.Integer(), nullable=False),
        sa.Column("question", QUESTION, nullable=False),
        sa.Column("outcome", sa.String(length=8), nullable=False),
        sa.Column("grade", sa.Integer(), nullable=True),
        sa.Column("answered", sa.DateTime(), nullable=False),
        sa.ForeignKeyConstraint(["offer"], ["offers.id"]),
        sa.PrimaryKeyConstraint("offer", "question"),
    )
    op.create_table(
        "comments",
        sa.Column("offer", sa.Integer(), nullable=False),
        sa.Column("reasons", sa.Text(), nullable=False),
        sa.Column("comment", sa.Text(), nullable=False),
        sa.Column("written", sa.DateTime(), nullable=False),
        sa.ForeignKeyConstraint(["offer"], ["offers.id"]),
        sa.PrimaryKeyConstraint("offer"),
    )


def _make_anew() -> None:
    """SQLite drops no constraint: both tables are made anew, and the old ones dropped.

    What refers to a table goes first, so that no reference is ever without its row.
    """
    op.create_table(
        "new_judgements",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("offer", sa.Integer(), nullable=False),
        sa.Column("outcome", sa.String(length=8), nullable=False),
        sa.Column("answered", sa.DateTime(), nullable=False),
        sa.Column("grade", sa.Integer(), nullable=True),
        sa.Column("question", QUESTION, nullable=False, server_default=""),
        sa.ForeignKeyConstraint(["offer"], ["offers.id"]),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("offer", "question", name="one_answer"),
    )
    op.create_table(
        "new_undone",
        sa.Column("judgement", sa.Integer(), nullable=False),
        sa.Column("at", sa.DateTime(), nullable=False),
        sa.ForeignKeyConstraint(["judgement"], ["new_judgements.id"]),
        sa.PrimaryKeyConstraint("judgement"),
    )
    op.execute(
        "INSERT INTO new_judgements (id, offer, outcome, answered, grade) "
        "SELECT id, offer, outcome, answered, grade FROM judgements ORDER BY id"
    )
    op.execute("INSERT INTO new_undone (judgement, at) SELECT judgement, at FROM undone")
    for table in ("undone", "judgements"):
        op.drop_table(table)
    for table in ("judgements", "undone"):
        op.rename_table(f"new_{table}", table)
