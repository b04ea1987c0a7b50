"""A judge answers, a live worker fits, a researcher looks: recorded from the answer on.

The record is the file that is named on the command line; the study is made in the working folder.
"""

from __future__ import annotations

import os
import sqlite3
import sys
import time
from contextlib import closing
from pathlib import Path

import sitecustomize

from support.form_browser import Visitor
from tiewise.geo.areas import Areas
from tiewise.study.create import create_study
from tiewise.web.server import open_site

PATIENCE = 120


def visitor(*, live: bool = False) -> Visitor:
    """Somebody at the study's site, whose requests have threads of their own."""
    new = Visitor(open_site("study", live=live))
    new.client.portal = None
    return new


def has_snapshot() -> bool:
    """Whether the live worker has stored one; asked without the code that is recorded."""
    with closing(sqlite3.connect(Path("study") / "study.db")) as connection:
        return bool(connection.execute("select count(*) from snapshots").fetchone()[0])


def main(record: str) -> None:
    """The whole way, on a county of six areas."""
    Areas.synthetic(6, rng=1).to_gpkg("county.gpkg")
    create_study("study", question="Which ward is greener?", areas="county.gpkg")
    judge, researcher = visitor().join(), visitor(live=True)

    sitecustomize.begin(record)
    os.environ["FIRST_ENTRIES"] = record
    assert judge.judge("left").status_code == 200
    with researcher.client:
        end = time.monotonic() + PATIENCE
        while not has_snapshot():
            assert time.monotonic() < end, "no snapshot came"
            time.sleep(0.05)
        assert researcher.sign_in().get("/watch").status_code == 200


if __name__ == "__main__":
    main(sys.argv[1])
