"""Kinds of item: what the page of a pair shows of each item."""

KINDS = (
    "tiewise.web.judge.items.image:IMAGE",
    "tiewise.web.judge.items.pages:PAGES",
    "tiewise.web.judge.items.sound:SOUND",
    "tiewise.web.judge.items.video:VIDEO",
    "tiewise.web.judge.items.text:TEXT",
    "tiewise.web.judge.items.long_text:LONG_TEXT",
    "tiewise.web.judge.items.area:AREA",
)
"""Every kind of item, in the order in which they are shown."""
