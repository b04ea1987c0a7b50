"""What a file is, by its first bytes, and which endings say so."""

from __future__ import annotations

import re
from typing import NamedTuple

HEAD = 1 << 16
"""Bytes that are looked at."""


class FileFormat(NamedTuple):
    """A format that can be taken."""

    name: str
    task: str
    """What decodes it: a key of `TASKS`."""
    endings: tuple[str, ...]
    media_type: str = ""
    """Of those that browsers get as they are."""
    reader: str = ""
    """What Pillow or ffmpeg calls it."""


FORMATS = (
    FileFormat("JPEG picture", "picture", (".jpg", ".jpeg"), reader="JPEG"),
    FileFormat("PNG picture", "picture", (".png",), reader="PNG"),
    FileFormat("GIF picture", "picture", (".gif",), reader="GIF"),
    FileFormat("WebP picture", "picture", (".webp",), reader="WEBP"),
    FileFormat("TIFF picture", "picture", (".tif", ".tiff"), reader="TIFF"),
    FileFormat("BMP picture", "picture", (".bmp",), reader="BMP"),
    FileFormat("AVIF picture", "picture", (".avif",), reader="AVIF"),
    FileFormat("PDF", "pdf", (".pdf",)),
    FileFormat("MP3 recording", "recording", (".mp3",), "audio/mpeg", "mp3"),
    FileFormat("WAV recording", "recording", (".wav",), "audio/wav", "wav"),
    FileFormat("Ogg recording", "recording", (".ogg", ".oga", ".opus"), "audio/ogg", "ogg"),
    FileFormat("FLAC recording", "recording", (".flac",), "audio/flac", "flac"),
    FileFormat("M4A recording", "recording", (".m4a",), "audio/mp4", "mp4"),
    FileFormat("MP4 video", "recording", (".mp4", ".m4v"), "video/mp4", "mp4"),
    FileFormat("WebM video", "recording", (".webm",), "video/webm", "webm"),
    FileFormat("Markdown text", "markdown", (".md", ".markdown")),
    FileFormat("plain text", "text", (".txt", ".text")),
)
BY_ENDING = {ending: one for one in FORMATS for ending in one.endings}
TEXTS = ("markdown", "text")

WAY_OUT = {
    ".doc": "save it as PDF", ".docx": "save it as PDF", ".odt": "save it as PDF",
    ".rtf": "save it as PDF", ".pages": "export it as PDF", ".ppt": "save it as PDF",
    ".pptx": "save it as PDF", ".odp": "save it as PDF", ".tex": "make a PDF of it",
    ".html": "print it to a PDF, or save it as text", ".htm": "print it to a PDF",
    ".svg": "an SVG can hold programs; save it as PNG or PDF", ".heic": "save it as JPEG",
    ".heif": "save it as JPEG", ".psd": "save it as PNG", ".mov": "save it as MP4 (H.264)",
    ".avi": "save it as MP4 (H.264)", ".mkv": "save it as MP4 (H.264) or WebM",
    ".wmv": "save it as MP4 (H.264)", ".wma": "save it as MP3", ".aac": "save it as M4A or MP3",
    ".amr": "save it as MP3", ".aif": "save it as WAV or MP3", ".aiff": "save it as WAV or MP3",
    ".zip": "unpack it", ".rar": "unpack it", ".7z": "unpack it", ".gz": "unpack it",
    ".xlsx": "save it as PDF", ".xls": "save it as PDF", ".exe": "take it out",
}  # fmt: skip
"""For endings that cannot be taken: what to do."""

_STARTS = (
    (rb"\xff\xd8\xff", "JPEG picture"),
    (rb"\x89PNG\r\n\x1a\n", "PNG picture"),
    (rb"GIF8[79]a", "GIF picture"),
    (rb"RIFF....WEBP", "WebP picture"),
    (rb"RIFF....WAVE", "WAV recording"),
    (rb"RIFF....AVI ", "AVI video"),
    (rb"II\*\0|MM\0\*|II\+\0|MM\0\+", "TIFF picture"),
    (rb"BM....\0\0\0\0", "BMP picture"),
    (rb"....ftypavi[fs]", "AVIF picture"),
    (rb"....ftyp(hei|hev|mif1|msf1)", "HEIC picture"),
    (rb"....ftypqt", "QuickTime video"),
    (rb"....ftypM4[AB]", "M4A recording"),
    (rb"....ftyp", "MP4 video"),
    (rb"ID3|\xff[\xfb\xf3\xf2\xfa]", "MP3 recording"),
    (rb"OggS", "Ogg recording"),
    (rb"fLaC", "FLAC recording"),
    (rb"\x1aE\xdf\xa3.{0,64}webm", "WebM video"),
    (rb"\x1aE\xdf\xa3", "Matroska video"),
    (rb"PK\x03\x04", "packed file or an office document"),
    (rb"\xd0\xcf\x11\xe0", "old office document"),
    (rb"\x7fELF|MZ", "program"),
    (rb"\{\\rtf", "RTF document"),
    (rb".{0,1000}%PDF-", "PDF"),
    (rb"\s*(<\?xml.{0,1000})?(<!--.{0,1000}-->\s*)?(<!DOCTYPE svg.{0,1000})?<svg", "SVG drawing"),
    (rb"\s*<(!doctype )?html", "HTML page"),
)
_SIGNATURES = [(re.compile(start, re.DOTALL | re.IGNORECASE), name) for start, name in _STARTS]


def content_name(head: bytes) -> str:
    """What the first bytes of a file are; "plain text" where they could be, else empty."""
    for pattern, name in _SIGNATURES:
        if pattern.match(head):
            return name
    return "" if b"\0" in head else "plain text"
