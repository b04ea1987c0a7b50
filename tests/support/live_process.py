"""A process with the supervisor of the study in FOLDER, as one of the site's has.

The address of the database comes through the environment, as it does to the worker.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from threading import Event

from tiewise.study.study import Study
from tiewise.web.live.supervisor import Supervisor


def main() -> None:
    """Start it, print its name, and go on until killed."""
    study = Study.open(Path(sys.argv[1]))
    supervisor = Supervisor(study.folder, study.store(os.environ.get("TIEWISE_DATABASE") or None))
    supervisor.start()
    print(supervisor.holder, flush=True)
    Event().wait()


if __name__ == "__main__":
    main()
