"""What researchers take away: the tables of `tiewise export`, the report, the briefing."""

from __future__ import annotations

import tempfile
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import IO

from starlette.exceptions import HTTPException
from starlette.responses import FileResponse, Response, StreamingResponse

from tiewise.study.export import export, export_one
from tiewise.web.researcher.report_job import KINDS, paper, start
from tiewise.web.researcher.request import Watch

TABLES = {
    "comparisons.csv": "judgements that count, one a row; what a fit reads",
    "excluded.csv": "the same, of judges who are left out",
    "judges.csv": "when they agreed, how much they did, what they said of themselves",
    "offers.csv": "every pair that was shown, answered or not",
    "erased.csv": "what was erased when",
    "items.csv": "what is compared",
}
ZIP = "export.zip"
CHUNK = 256 * 1024


def download(watch: Watch) -> Response:
    """A file, noted in the trail."""
    name = watch.request.path_params["name"]
    if name not in TABLES and name != ZIP and name not in KINDS:
        raise HTTPException(404)
    answer = _paper(watch, name) if name in KINDS else _tables(watch, name)
    watch.site.ledger.note("download", name, by=watch.researcher)
    return answer


def make_papers(watch: Watch) -> Response:
    """Have the report and the briefing made, unless somebody does already."""
    if start(watch.site.study, watch.site.store):
        watch.site.ledger.note("make report", by=watch.researcher)
    return watch.go("/watch/run#papers")


def _paper(watch: Watch, name: str) -> Response:
    path = paper(watch.site.study, watch.site.store, name)
    if path is None:
        raise HTTPException(404)
    return FileResponse(path, media_type=KINDS[name], headers=_as_file(name))


def _tables(watch: Watch, name: str) -> Response:
    study, store = watch.site.study, watch.site.store
    with tempfile.TemporaryDirectory() as folder:
        if name == ZIP:
            return sent(_zipped(export(study, store, folder)), "application/zip", _as_file(name))
        path = export_one(study, store, name, folder)
        return sent(path.open("rb"), "text/csv; charset=utf-8", _as_file(name))


def _zipped(paths: list[Path]) -> IO[bytes]:
    # Without a name on the disk: whatever happens to this process, nothing of it stays.
    file = tempfile.TemporaryFile()  # noqa: SIM115
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as packed:
        for path in paths:
            packed.write(path, path.name)
    return file


def sent(file: IO[bytes], kind: str, headers: Mapping[str, str]) -> Response:
    """An open file, read from its beginning and then closed."""
    size = file.seek(0, 2)
    file.seek(0)

    def pieces() -> Iterator[bytes]:
        with file:
            while piece := file.read(CHUNK):
                yield piece

    return StreamingResponse(
        pieces(), media_type=kind, headers={**headers, "Content-Length": str(size)}
    )


def _as_file(name: str) -> dict[str, str]:
    return {"Content-Disposition": f'attachment; filename="{name}"'}
