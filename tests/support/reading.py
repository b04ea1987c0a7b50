"""Long things to compare, for tests of the page: scans, essays and recordings as kinds of item."""

from __future__ import annotations

import io
import struct
import wave
import zlib
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from jinja2 import ChoiceLoader, DictLoader

from tiewise.web.judge import pages
from tiewise.web.judge.items.kind import ItemKind, Reading
from tiewise.web.rendering import templates
from tiewise.web.site import Site

PAGES = 4
WIDTH, HEIGHT = 1240, 1754

MACROS = {
    "scan": """{% macro item(side, view) %}
<div class="reading" data-kind="scan">
{% for n in range(1, 5) %}
<figure class="page" data-page="{{ n }}">
<img src="{{ url('/static/page.png') }}?{{ side.outcome }}{{ n }}" width="1240" height="1754"
 alt="{{ view }} {{ n }}" data-large="{{ url('/static/page.png') }}?large{{ n }}"></figure>
{% endfor %}
</div>
{% endmacro %}""",
    "essay": """{% macro item(side, view) %}
<div class="reading" data-kind="text"><div class="prose" dir="auto">
<h3>{{ view }}</h3>
{% for n in range(20) %}
<p>{{ "The river rises in the hills and takes its time on the way to the sea. " * 5 }}</p>
{% endfor %}
<table><tr><th>Year</th><th>Rain in millimetres</th><th>Snow in millimetres</th></tr>
<tr><td>1999</td><td>812</td><td>31</td></tr></table>
</div></div>
{% endmacro %}""",
    "sound": """{% macro item(side, view) %}
<div class="reading" data-kind="sound">
<audio controls src="{{ url('/static/tone.wav') }}?{{ side.outcome }}"></audio>
<details><summary>{{ view }}</summary><div class="prose"><p>{{ view }}</p></div></details>
</div>
{% endmacro %}""",
}

READINGS = {
    "scan": Reading(pages=PAGES), "essay": Reading(text=True), "sound": Reading(text=True),
}  # fmt: skip


def _name(site: Site, item) -> str:
    return item.name


def png(width: int = WIDTH, height: int = HEIGHT) -> bytes:
    """A page with grey lines, as a PNG of one channel."""
    row = bytes([250] * width)
    line = bytes([250] * 120 + [90] * (width - 240) + [250] * 120)
    rows = b"".join(b"\0" + (line if y % 40 < 6 and y > 100 else row) for y in range(height))

    def chunk(kind: bytes, data: bytes) -> bytes:
        return (
            struct.pack(">I", len(data)) + kind + data
            + struct.pack(">I", zlib.crc32(kind + data))
        )  # fmt: skip

    header = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    parts = [chunk(b"IHDR", header), chunk(b"IDAT", zlib.compress(rows, 9)), chunk(b"IEND", b"")]
    return b"\x89PNG\r\n\x1a\n" + b"".join(parts)


def tone(seconds: int = 20) -> bytes:
    """Silence of some seconds, as a WAV file."""
    buffer = io.BytesIO()
    with wave.open(buffer, "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(1)
        file.setframerate(8000)
        file.writeframes(bytes([128]) * 8000 * seconds)
    return buffer.getvalue()


@contextmanager
def long_items(kind: str) -> Iterator[None]:
    """The page of a pair with items of this kind: `scan`, `essay` or `sound`."""
    made = ItemKind(kind, _name, reading=lambda view: READINGS[kind])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pages, "item_kinds", lambda: [made])
        environment = templates()
        macros = DictLoader({f"judge/items/{name}.html": text for name, text in MACROS.items()})
        patch.setattr(environment, "loader", ChoiceLoader([macros, environment.loader]))
        yield
        environment.cache.clear()
