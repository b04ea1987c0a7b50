"""Files that people compare, made for a test: pages, pictures, recordings and texts."""

from __future__ import annotations

import math
import struct
import wave
from collections.abc import Sequence
from io import BytesIO
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw

FOX = "the quick brown fox jumps over the lazy dog"


def scan(width: int = 600, height: int = 850, page: int = 1, noise: float = 4.0) -> Image.Image:
    """A page as a scanner sees it: lines of writing on paper that is not quite even."""
    rng = np.random.default_rng(page)
    paper = 238 + rng.normal(0, noise, (height, width, 1)) + np.zeros(3)
    picture = Image.fromarray(paper.clip(0, 255).astype(np.uint8))
    pen = ImageDraw.Draw(picture)
    for line in range(32):
        at = width // 12, height // 14 + line * height // 36
        pen.text(at, f"{page}.{line} {FOX}", fill=(20, 20, 90), font_size=max(8, height // 60))
    return picture


def saved(picture: Image.Image, kind: str = "PNG", **options: object) -> bytes:
    """The bytes of a picture as a file."""
    body = BytesIO()
    picture.save(body, kind, **options)
    return body.getvalue()


def pdf(texts: Sequence[str], size: tuple[int, int] = (595, 842)) -> bytes:
    """A PDF with a text layer, a page for each text; written by hand."""
    numbers = [4 + 2 * k for k in range(len(texts))]
    kids = " ".join(f"{number} 0 R" for number in numbers)
    objects = [
        "<< /Type /Catalog /Pages 2 0 R >>",
        f"<< /Type /Pages /Kids [{kids}] /Count {len(texts)} >>",
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]
    for number, text in zip(numbers, texts, strict=True):
        drawn = f"BT /F1 18 Tf 60 {size[1] - 80} Td ({text}) Tj ET"
        objects += [
            f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 {size[0]} {size[1]}] "
            f"/Contents {number + 1} 0 R /Resources << /Font << /F1 3 0 R >> >> >>",
            f"<< /Length {len(drawn)} >>\nstream\n{drawn}\nendstream",
        ]
    body, starts = b"%PDF-1.4\n", []
    for k, text in enumerate(objects, 1):
        starts.append(len(body))
        body += f"{k} 0 obj\n{text}\nendobj\n".encode("latin-1")
    table = "".join(f"{start:010} 00000 n \n" for start in starts)
    size_line = f"<< /Size {len(objects) + 1} /Root 1 0 R >>"
    end = f"xref\n0 {len(objects) + 1}\n0000000000 65535 f \n{table}trailer\n{size_line}\n"
    return body + f"{end}startxref\n{len(body)}\n%%EOF\n".encode("latin-1")


def sound(seconds: float = 1.0, rate: int = 8000, *, note: bytes = b"") -> bytes:
    """A tone as WAV; `note` is what a recorder adds about itself."""
    body = BytesIO()
    with wave.open(body, "wb") as out:
        out.setnchannels(1)
        out.setsampwidth(2)
        out.setframerate(rate)
        tone = [int(9000 * math.sin(k / 7)) for k in range(rate)]
        second = struct.pack(f"<{rate}h", *tone)
        out.writeframes(second * int(seconds) + second[: int(seconds % 1 * rate) * 2])
    if not note:
        return body.getvalue()
    padded = note + b"\0" * (len(note) % 2)
    whole = body.getvalue() + b"LIST" + struct.pack("<I", len(padded)) + padded
    return whole[:4] + struct.pack("<I", len(whole) - 8) + whole[8:]


def boxes(*parts: tuple[bytes, bytes]) -> bytes:
    """Boxes as an MP4 has them."""
    return b"".join(struct.pack(">I", 8 + len(body)) + name + body for name, body in parts)


def film(codec: bytes = b"avc1") -> bytes:
    """The frame of an MP4: as much as is looked at without a decoder."""
    return boxes((b"ftyp", b"isom\0\0\0\0"), (b"moov", b"stsd" + codec), (b"mdat", b"\0" * 500))


def essay(words: int = 1500) -> str:
    """A Markdown essay with headings, a list, tables and mathematics."""
    paragraph = " ".join([FOX] * 9)
    number = max(1, words // 90)
    parts = ["# On foxes", f"Let $x^2 + \\frac{{1}}{{2}}$ be given. {paragraph}"]
    for k in range(number):
        parts += [f"## Part {k + 1}", paragraph]
    parts += [
        "| fox | dogs |\n|-----|-----:|\n| one | two |\n| three | four |",
        "- first\n- second\n- third",
        "$$\\sum_{i=1}^{n} i = \\frac{n(n+1)}{2}$$",
    ]
    return "\n\n".join(parts) + "\n"


def write(folder: Path, files: dict[str, bytes | str]) -> Path:
    """A folder with these files, some of them in folders of their own."""
    for name, body in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(body.encode() if isinstance(body, str) else body)
    return folder
