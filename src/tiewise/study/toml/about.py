"""`[about]` of a study: who runs it, who approved of it, its logo, and whom to ask."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tiewise.study.toml.key_types import Problem, short

LOGO_ENDINGS = (".png", ".jpg", ".jpeg", ".webp")
LARGEST_LOGO = 200_000
"""Bytes: it is on the first page, which phones load as well."""


@dataclass(frozen=True, kw_only=True)
class AboutSettings:
    """`[about]`: who runs the study, who approved of it, and whom to ask."""

    organisation: str = ""
    ethics: str = ""
    contact: str = ""
    logo: str = ""
    """A file in the folder `images`."""
    logo_text: str = ""
    """What the logo says, for those who cannot see it; empty: the organisation."""


def logo_problems(about: AboutSettings) -> Iterator[Problem]:
    """A logo is a picture in the folder `images`, and has words for those who cannot see it."""
    name = about.logo
    if name and (Path(name).name != name or not name.lower().endswith(LOGO_ENDINGS)):
        endings = ", ".join(LOGO_ENDINGS)
        yield Problem("about.logo", f"{short(name)}; name a file in images that ends {endings}")
    if name and not (about.logo_text or about.organisation).strip():
        yield Problem("about.logo_text", "empty; say what the logo says, or who runs the study")


def logo_faults(about: AboutSettings, folder: Path) -> Iterator[str]:
    """What is wrong with the file of the logo in the folder of a study."""
    if not about.logo:
        return
    path = folder / "images" / about.logo
    if not path.is_file():
        yield f"about.logo: there is no images/{about.logo}; put it there, or leave the key empty"
    elif not path.resolve().is_relative_to(path.parent.resolve()):
        yield f"about.logo: images/{about.logo} leads outside images; put the file itself there"
    elif path.stat().st_size > LARGEST_LOGO:
        size = path.stat().st_size // 1000
        yield (
            f"about.logo: images/{about.logo} has {size} kB; at most {LARGEST_LOGO // 1000} are "
            "shown; make it smaller"
        )
