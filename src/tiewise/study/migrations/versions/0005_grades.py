"""How strongly an item was chosen; studies with answers keep the number of answers they had."""

from datetime import UTC, datetime

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the column, and write how many answers there were where any was given."""
    op.add_column("judgements", sa.Column("grade", sa.Integer(), nullable=True))
    query = sa.text("SELECT value FROM meaning WHERE key = 'answers.ties'")
    ties = op.get_bind().scalar(query)
    if ties is not None:
        meaning = sa.table("meaning", sa.column("key"), sa.column("value"), sa.column("since"))
        moment = datetime.now(UTC).replace(tzinfo=None)
        number = "3" if ties == "True" else "2"
        row = {"key": "answers.grades", "value": number, "since": moment}
        op.execute(meaning.insert().values(row))
