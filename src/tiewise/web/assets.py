"""Files that a browser keeps for good: their address changes when their content does."""

from __future__ import annotations

import gzip
import hashlib
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from starlette.requests import Request
from starlette.responses import FileResponse, Response

STATIC = Path(__file__).parent / "static"
KINDS = {
    ".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml", ".png": "image/png",
    ".jpg": "image/jpeg", ".jpeg": "image/jpeg", ".webp": "image/webp", ".gif": "image/gif",
    ".avif": "image/avif",
}  # fmt: skip
FOR_GOOD = "public, max-age=31536000, immutable"


@dataclass(frozen=True)
class Asset:
    """Some bytes, their kind, and a digest to know them by."""

    body: bytes
    kind: str

    @cached_property
    def digest(self) -> str:
        """Short, and another one for other content."""
        return hashlib.sha256(self.body).hexdigest()[:12]

    @cached_property
    def packed(self) -> bytes:
        """The body as it travels."""
        return gzip.compress(self.body, 9, mtime=0)

    def answer(self, request: Request) -> Response:
        """The bytes, packed where the browser can unpack it; to be kept if asked for by digest."""
        asked = request.query_params.get("v") == self.digest
        headers = {"Cache-Control": FOR_GOOD if asked else "no-cache", "Vary": "Accept-Encoding"}
        text = self.kind.startswith("text/") or self.kind == "image/svg+xml"
        if text and "gzip" in request.headers.get("accept-encoding", ""):
            headers["Content-Encoding"] = "gzip"
            return Response(self.packed, media_type=self.kind, headers=headers)
        return Response(self.body, media_type=self.kind, headers=headers)


@dataclass(frozen=True)
class Picture:
    """An image file of a study, which may be large and so stays on the disk."""

    path: Path
    digest: str

    @classmethod
    def of(cls, path: Path) -> Picture | None:
        """The file, known by its size and time; None where it is no image, or not there."""
        if path.suffix.lower() not in KINDS or not path.is_file():
            return None
        about = path.stat()
        told = f"{path.name} {about.st_size} {about.st_mtime_ns}"
        return cls(path, hashlib.sha256(told.encode()).hexdigest()[:12])

    def answer(self, request: Request) -> Response:
        """The image, to be kept if asked for by digest."""
        asked = request.query_params.get("v") == self.digest
        headers = {"Cache-Control": FOR_GOOD if asked else "no-cache"}
        return FileResponse(self.path, media_type=KINDS[self.path.suffix.lower()], headers=headers)


def static_assets() -> dict[str, Asset]:
    """Our own style and script, by name."""
    files = [path for path in STATIC.iterdir() if path.suffix in KINDS]
    return {path.name: Asset(path.read_bytes(), KINDS[path.suffix]) for path in files}
