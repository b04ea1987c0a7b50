"""Downloads: the tables of `tiewise export`, the report and the briefing."""

from __future__ import annotations

import tempfile
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import IO

from starlette.exceptions import HTTPException
from starlette.responses import FileResponse, Response, StreamingResponse

from tiewise.study.export import ABOUT, COMMENTS, export, export_one
from tiewise.study.study import DESIGN, Study
from tiewise.web.researcher.report_job import MEDIA_TYPES, report_file, start_report
from tiewise.web.researcher.request import ResearcherRequest

TABLES = {
    "comparisons.csv": "judgements that count, one a row; what a fit reads",
    "excluded.csv": "the same, of judges who are left out",
    "judges.csv": "when they agreed, how much they did, what they said of themselves",
    "offers.csv": "every pair that was shown, answered or not",
    "erased.csv": "what was erased when",
    "items.csv": "what is compared",
    ABOUT: "whether judges could call a tie, and grades; keep it beside comparisons.csv",
}
WITH_COMMENTS = {COMMENTS: "why judges answered as they did, in their own words"}
WITH_DESIGN = {
    DESIGN: "the pairs that were chosen beforehand, list by list, with the codes of sheets"
}
ZIP = "export.zip"
CHUNK = 256 * 1024


def tables(study: Study) -> dict[str, str]:
    """The tables of a study, and what each holds."""
    reasons = WITH_COMMENTS if study.settings.reasons.asked else {}
    return TABLES | reasons | (WITH_DESIGN if study.design is not None else {})


def download(request: ResearcherRequest) -> Response:
    """A file; the download is written to the audit log."""
    name = request.http.path_params["name"]
    if name not in tables(request.whole_study) and name != ZIP and name not in MEDIA_TYPES:
        raise HTTPException(404)
    response = _report(request, name) if name in MEDIA_TYPES else _tables(request, name)
    request.site.researcher_store.log("download", name, by=request.researcher)
    return response


def make_reports(request: ResearcherRequest) -> Response:
    """Start making the report and the briefing, unless that is under way."""
    if start_report(request.site.study, request.site.store):
        request.site.researcher_store.log("make report", by=request.researcher)
    return request.redirect("/watch/run#papers")


def _report(request: ResearcherRequest, name: str) -> Response:
    path = report_file(request.site.study, request.site.store, name)
    if path is None:
        raise HTTPException(404)
    return FileResponse(path, media_type=MEDIA_TYPES[name], headers=_attachment(name))


def _tables(request: ResearcherRequest, name: str) -> Response:
    study = replace(request.whole_study, items=dict(request.site.items))
    store = request.site.store
    with tempfile.TemporaryDirectory() as folder:
        if name == ZIP:
            return file_response(
                _zip(export(study, store, folder)), "application/zip", _attachment(name)
            )
        path = export_one(study, store, name, folder)
        media_type = "application/json" if name == ABOUT else "text/csv; charset=utf-8"
        return file_response(path.open("rb"), media_type, _attachment(name))


def _zip(paths: list[Path]) -> IO[bytes]:
    # A file without a name: it is gone when the process ends, however that happens.
    file = tempfile.TemporaryFile()  # noqa: SIM115
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in paths:
            archive.write(path, path.name)
    return file


def file_response(file: IO[bytes], media_type: str, headers: Mapping[str, str]) -> Response:
    """An open file, read from its beginning and then closed."""
    size = file.seek(0, 2)
    file.seek(0)

    def chunks() -> Iterator[bytes]:
        with file:
            while chunk := file.read(CHUNK):
                yield chunk

    return StreamingResponse(
        chunks(), media_type=media_type, headers={**headers, "Content-Length": str(size)}
    )


def _attachment(name: str) -> dict[str, str]:
    return {"Content-Disposition": f'attachment; filename="{name}"'}
