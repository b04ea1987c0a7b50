"""How a study is fitted: one that has answers keeps the priors of the version it was begun with."""

from datetime import UTC, datetime

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make the table, and write the paper's priors where answers were given."""
    settings = op.create_table(
        "fit_settings",
        sa.Column("key", sa.String(length=32), nullable=False),
        sa.Column("value", sa.Text(), nullable=False),
        sa.Column("since", sa.DateTime(), nullable=False),
        sa.PrimaryKeyConstraint("key"),
    )
    if op.get_bind().scalar(sa.text("SELECT id FROM judgements LIMIT 1")) is not None:
        moment = datetime.now(UTC).replace(tzinfo=None)
        op.bulk_insert(settings, [{"key": "priors", "value": "paper", "since": moment}])
