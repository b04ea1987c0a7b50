"""A process that keeps the live picture of the study in FOLDER as one of the site's would.

The address of the database comes through the environment, as it does to the worker.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from threading import Event

from tiewise.study.study import Study
from tiewise.web.live.supervisor import Keeper


def main() -> None:
    """Keep, say so, and go on until killed."""
    study = Study.open(Path(sys.argv[1]))
    keeper = Keeper(study.folder, study.store(os.environ.get("TIEWISE_DATABASE") or None))
    keeper.start()
    print(keeper.holder, flush=True)
    Event().wait()


if __name__ == "__main__":
    main()
