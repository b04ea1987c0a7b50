"""The folder of a site: its studies by name, and what lies beside them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from tiewise.errors import InputError
from tiewise.hosting.accounts import SiteDatabase
from tiewise.study.access.private_files import private_folder

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._~-]{0,63}")
"""What a study may be called: its name is part of its address."""
RESERVED = ("health", "site", "sign-in", "static")
"""Addresses of the site itself."""


@dataclass(frozen=True)
class SiteFolder:
    """A folder with a folder for each study."""

    path: Path

    @classmethod
    def open(cls, path: str | Path) -> SiteFolder:
        """The folder of a site, made where there is none yet."""
        place = Path(path).resolve()
        if place.exists() and not place.is_dir():
            raise InputError(f"{place} is a file; name a folder for the studies of the site")
        if (place / "study.toml").is_file():
            raise InputError(
                f"{place} is a study; name the folder that holds it, or a new one, and put the "
                "study into that"
            )
        if not place.exists():
            private_folder(place)
        site = cls(place)
        for folder in (site.uploads, site.archive, site.exports, site.previews):
            private_folder(folder)
        return site

    @property
    def uploads(self) -> Path:
        """What is being uploaded."""
        return self.path / ".uploads"

    @property
    def archive(self) -> Path:
        """Studies that are kept and not shown."""
        return self.path / ".archive"

    @property
    def exports(self) -> Path:
        """Exports of studies that were deleted."""
        return self.path / ".exports"

    @property
    def previews(self) -> Path:
        """Databases of rehearsals."""
        return self.path / ".previews"

    def studies(self) -> list[str]:
        """The names of the studies."""
        return _names(self.path)

    def archived(self) -> list[str]:
        """The names of studies in the archive."""
        return _names(self.archive)

    def study(self, name: str) -> Path:
        """The folder of a study of this name."""
        return self.path / name

    def is_study(self, name: str) -> bool:
        """Whether there is a study of this name."""
        return bool(name_fault(name) == "" and (self.path / name / "study.toml").is_file())

    def free_name(self, wish: str) -> str:
        """A name for a new study, as near to a wish as may be."""
        plain = re.sub(r"[^a-z0-9]+", "-", wish.casefold()).strip("-")[:40].strip("-") or "study"
        taken = {name.lower() for name in (*self.studies(), *self.archived(), *RESERVED)}
        return next(
            name for k in range(1, 10**6)
            if (name := plain if k == 1 else f"{plain}-{k}") not in taken
        )  # fmt: skip

    def refuse_name(self, name: str) -> None:
        """Refuse a name for a new study that is none, or is taken."""
        fault = name_fault(name)
        taken = {one.lower() for one in (*self.studies(), *self.archived())}
        if not fault and name.lower() in taken:
            fault = f"there is a study {name!r} already; choose another name"
        if not fault and (self.path / name).exists():
            fault = f"something else is called {name!r} in the folder of the site; choose another"
        if fault:
            raise InputError(fault)

    def database(self, url: str | None = None) -> SiteDatabase:
        """The database of the site: a file in its folder, or one on a server."""
        return SiteDatabase(url or f"sqlite:///{self.path}/site.db")


def name_fault(name: str) -> str:
    """Why a study cannot be called so; empty where it can."""
    if NAME.fullmatch(name) and name.lower() not in RESERVED:
        return ""
    return (
        f"a study cannot be called {name[:80]!r}, as its name is part of its address; use letters, "
        "digits, - and _"
    )


def _names(folder: Path) -> list[str]:
    names = (path.parent.name for path in folder.glob("*/study.toml"))
    return sorted(name for name in names if not name_fault(name))
