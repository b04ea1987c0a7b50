"""Files that a browser may cache for ever: their address changes when their content does."""

from __future__ import annotations

import gzip
import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from starlette.requests import Request
from starlette.responses import Response

STATIC = Path(__file__).parent / "static"
MEDIA_TYPES = {
    ".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml", ".png": "image/png",
    ".jpg": "image/jpeg", ".jpeg": "image/jpeg", ".webp": "image/webp", ".gif": "image/gif",
    ".avif": "image/avif", ".woff2": "font/woff2",
}  # fmt: skip
CACHE_FOREVER = "public, max-age=31536000, immutable"
CACHE_PRIVATELY = CACHE_FOREVER.replace("public", "private")
"""For files that not everybody may see: no cache on the way keeps them."""


@dataclass(frozen=True)
class Asset:
    """Some bytes, their media type, and a digest."""

    body: bytes
    media_type: str

    @cached_property
    def digest(self) -> str:
        """A short digest of the content."""
        return hashlib.sha256(self.body).hexdigest()[:12]

    @cached_property
    def packed(self) -> bytes:
        """The body, compressed."""
        return gzip.compress(self.body, 9, mtime=0)

    def answer(self, request: Request, *, cache: str = CACHE_FOREVER) -> Response:
        """The bytes, compressed if the browser takes it; cached if asked for by digest."""
        by_digest = request.query_params.get("v") == self.digest
        headers = {"Cache-Control": cache if by_digest else "no-cache", "Vary": "Accept-Encoding"}
        text = self.media_type.startswith("text/") or self.media_type == "image/svg+xml"
        if text and "gzip" in request.headers.get("accept-encoding", ""):
            headers["Content-Encoding"] = "gzip"
            return Response(self.packed, media_type=self.media_type, headers=headers)
        return Response(self.body, media_type=self.media_type, headers=headers)


@dataclass(frozen=True)
class ImageFile:
    """An image of a study, which may be large and so stays on the disk."""

    path: Path
    digest: str

    @classmethod
    def open(cls, path: Path) -> ImageFile | None:
        """The file with a digest of its size and time; None where it is no image, or missing."""
        media_type = MEDIA_TYPES.get(path.suffix.lower(), "")
        if not media_type.startswith("image/") or not path.is_file():
            return None
        stat = path.stat()
        version = f"{path.name} {stat.st_size} {stat.st_mtime_ns}"
        return cls(path, hashlib.sha256(version.encode()).hexdigest()[:12])

    @property
    def media_type(self) -> str:
        """What it is, by its ending."""
        return MEDIA_TYPES[self.path.suffix.lower()]


def static_assets() -> dict[str, Asset]:
    """Our own styles, scripts and fonts, by name."""
    files = [path for path in STATIC.iterdir() if path.suffix in MEDIA_TYPES]
    assets = {path.name: Asset(path.read_bytes(), MEDIA_TYPES[path.suffix]) for path in files}
    return assets | {"fonts.css": _with_digests(assets["fonts.css"], assets)}


def _with_digests(style: Asset, assets: Mapping[str, Asset]) -> Asset:
    """A style whose `url(NAME)` have the digests of these files, so that they may be cached."""

    def with_digest(match: re.Match[str]) -> str:
        return f"url({match[1]}?v={assets[match[1]].digest})"

    return Asset(re.sub(r"url\(([\w.-]+)\)", with_digest, style.body.decode()).encode(), "text/css")
