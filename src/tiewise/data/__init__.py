"""Judgements as people have them: files and data frames read, checked and counted."""

FORMATS = (
    "tiewise.data.formats:INTERFACE",
    "tiewise.data.formats:COMPARATIVE_JUDGEMENT",
    "tiewise.data.formats:WINNER_AND_LOSER",
    "tiewise.data.formats:PAIR_AND_WINNER",
    "tiewise.data.formats:ARENA_VOTES",
    "tiewise.data.formats:COUNTS",
    "tiewise.data.formats:TIEWISE_ROWS",
)
"""Every format of tables that is recognised by its headings."""
