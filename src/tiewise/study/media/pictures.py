"""Pictures decoded, turned upright, and copied in two sizes without their metadata.

Runs in the process that decodes.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tiewise.study.media.faults import FileFault

if TYPE_CHECKING:
    from PIL.Image import Image

MEGA = 1_000_000
WEB_SIZE, LARGE_SIZE = (1000, 1600), (3200, 3200)
"""Pixels, width and height, that the copies for reading and for zooming fit into."""
WORTH_ZOOMING = 1.15
PICTURE_BYTES, PAGE_BYTES = 150_000, 46_000
"""Of the copy for reading, at most: a pair of two scans of four pages stays below 400 kB."""
STEPS = ((1.0, 76), (1.0, 52), (0.85, 52), (0.85, 34), (0.72, 34), (0.66, 24), (0.58, 22))
"""Shares of the size, and qualities, that are tried one after the other until a copy is light."""
SMALLEST, LONGEST = 16, 40
"""Pixels of a side at least, and how many times as long as wide a picture may be."""
ORIENTATION, LIES_FROM = 0x0112, 5
"""The tag of how a camera was held, and from which value on it lay on its side."""
PAGES = ("TIFF",)
"""Formats in which more than one picture are pages, and not a film."""


def decode(
    path: str, out: str, *, reader: str, megapixels: int, pages: int, alone: bool
) -> list[dict[str, Any]]:
    """The pages of a picture, copied into a folder; `alone` where it is the whole item."""
    import PIL.Image

    PIL.Image.MAX_IMAGE_PIXELS = None  # counted here
    try:
        with PIL.Image.open(path, formats=[reader]) as picture:
            check_pixels(*picture.size, megapixels)
            number = getattr(picture, "n_frames", 1)
            _check_frames(picture, number, pages)
            budget = PICTURE_BYTES if alone and number == 1 else PAGE_BYTES
            return [
                write_copies(frame, Path(out), budget) for frame in _frames(picture, megapixels)
            ]
    except FileFault:
        raise
    except (OSError, SyntaxError, ValueError, EOFError) as error:
        raise FileFault("is damaged or cut off; save it again, or take it out") from error


def _check_frames(picture: Image, number: int, pages: int) -> None:
    if number > 1 and picture.format not in PAGES:
        raise FileFault(f"moves ({number} pictures in one); save one of them, or make it a video")
    if number > pages:
        raise FileFault(
            f"has {number} pages, more than {pages}; divide it, or raise the limit pages"
        )


def _frames(picture: Image, megapixels: int) -> Iterator[Image]:
    for k in range(getattr(picture, "n_frames", 1)):
        picture.seek(k)
        check_pixels(*picture.size, megapixels)
        # JPEG is decoded at a half or a quarter where that is enough.
        picture.draft(None, _fitting(*picture.size, LARGE_SIZE))
        yield upright(picture)


def check_pixels(width: int, height: int, megapixels: int) -> None:
    """Refuse what is too large to decode, or nothing to look at."""
    if width * height > megapixels * MEGA:
        raise FileFault(
            f"has {width} × {height} pixels, more than {megapixels} million; make it smaller, or "
            "raise the limit megapixels"
        )
    if min(width, height) < SMALLEST or max(width, height) > LONGEST * min(width, height):
        raise FileFault(
            f"has {width} × {height} pixels, which is nothing to look at; is it the right file?"
        )


def shown_size(path: Path) -> tuple[int, int] | None:
    """Width and height of a picture as browsers show it; None where its header does not say.

    Nothing is decoded, so that it may be asked anywhere.
    """
    import PIL.Image

    PIL.Image.MAX_IMAGE_PIXELS = None
    try:
        with PIL.Image.open(path) as picture:
            width, height = picture.size
            lies = picture.getexif().get(ORIENTATION, 1) >= LIES_FROM
    except (OSError, SyntaxError, ValueError, TypeError):
        return None
    return (height, width) if lies else (width, height)


def upright(picture: Image) -> Image:
    """The picture decoded, as it was held, in the colours of screens."""
    from PIL import ImageOps

    profile = picture.info.get("icc_profile")
    turned = ImageOps.exif_transpose(picture)
    if turned.mode.startswith("I;16") or turned.mode == "I":
        turned = turned.convert("I").point(lambda value: value / 256).convert("L")
    clear = turned.mode in ("RGBA", "LA", "PA") or "transparency" in turned.info
    plain = turned.convert("RGBA" if clear else "L" if turned.mode in ("1", "L") else "RGB")
    return _as_srgb(plain, profile) if turned.mode == "RGB" and profile else plain


def _as_srgb(picture: Image, profile: bytes) -> Image:
    from PIL import ImageCms

    try:
        source = ImageCms.ImageCmsProfile(BytesIO(profile))
        made = ImageCms.profileToProfile(picture, source, ImageCms.createProfile("sRGB"))
    except (ImageCms.PyCMSError, OSError):
        return picture
    return made or picture


def write_copies(picture: Image, out: Path, budget: int) -> dict[str, Any]:
    """The copies of a page as files, named by their content, and their sizes."""
    web, packed = _within(_fitted(picture, WEB_SIZE), budget)
    width, height = web.size
    name = _write(out, packed)
    large, size = name, (width, height)
    if picture.width > WORTH_ZOOMING * width:
        zoomed = _fitted(picture, LARGE_SIZE)
        large, size = _write(out, _packed(zoomed, 76, method=1)), zoomed.size
    return {
        "web": name, "width": width, "height": height, "large": large, "large_width": size[0],
        "large_height": size[1],
    }  # fmt: skip


def _fitted(picture: Image, size: tuple[int, int]) -> Image:
    from PIL.Image import Resampling

    shape = _fitting(*picture.size, size)
    if shape == picture.size:
        return picture
    return picture.resize(shape, Resampling.LANCZOS, reducing_gap=3)


def _fitting(width: int, height: int, size: tuple[int, int]) -> tuple[int, int]:
    """Width and height within a size, never larger than they are."""
    scale = min(size[0] / width, size[1] / height, 1)
    return max(1, round(width * scale)), max(1, round(height * scale))


def _within(picture: Image, budget: int) -> tuple[Image, bytes]:
    """The picture packed within so many bytes: as well as that goes, then smaller."""
    smaller = picture
    for share, quality in STEPS:
        shape = max(1, round(picture.width * share)), max(1, round(picture.height * share))
        smaller = _fitted(picture, shape)
        packed = _packed(smaller, quality)
        if len(packed) <= budget:
            return smaller, packed
    return _within(smaller, budget)


def _packed(picture: Image, quality: int, method: int = 3) -> bytes:
    body = BytesIO()
    # Neither EXIF nor colour profile are passed on.
    picture.save(body, "WEBP", quality=quality, method=method, exif=b"", icc_profile=b"", xmp=b"")
    return body.getvalue()


def _write(out: Path, body: bytes) -> str:
    name = f"{hashlib.sha256(body).hexdigest()[:24]}.webp"
    (out / name).write_bytes(body)
    return name
