"""Report and briefing as the site makes them: `python -m benchmarks.site_report [ITEMS]`.

From the click to the links, in wall time, on a site that also keeps the live picture; a county of
100 areas unless told, 3,000 judgements of 50 judges. The first run also compiles. Writes
results/site-report.json.
"""

from __future__ import annotations

import json
import re
import sys
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path

import httpx2

from benchmarks.site import Case, prepare, site
from benchmarks.workload import ROOT
from tiewise.study.researcher_store import ResearcherStore
from tiewise.study.study import Study

RUNS, LONGEST, JUDGEMENTS = 4, 300.0, 3000
MADE = re.compile(r'href="[^"]*briefing\.pdf"')
TOKEN = re.compile(r'name="token" value="([^"]+)"')


def main() -> None:
    """Make report and briefing several times, and write how long each took."""
    items = int(sys.argv[1]) if sys.argv[1:] else 100
    seconds = []
    with tempfile.TemporaryDirectory() as folder:
        study = prepare(Path(folder) / "study", Case("sqlite", items, JUDGEMENTS), None)
        secret = invited(study)
        with (
            site(study.folder, None) as (_, port),
            httpx2.Client(base_url=f"http://127.0.0.1:{port}", follow_redirects=True) as client,
        ):
            link = f"/sign-in/{secret}"
            client.post(link, data={"token": token(client.get(link))})
            for _ in range(RUNS):
                seconds.append(seconds_of_papers(client))
                print(f"{seconds[-1]:.1f} s", flush=True)
    place = ROOT / "benchmarks" / "results" / "site-report.json"
    place.parent.mkdir(parents=True, exist_ok=True)
    row = {
        "items": items, "judgements": JUDGEMENTS, "seconds": seconds,
        "at": f"{datetime.now(UTC):%Y-%m-%d}",
    }  # fmt: skip
    place.write_text(json.dumps(row) + "\n", encoding="utf-8")


def invited(study: Study) -> str:
    """The secret of a link with which a researcher signs in."""
    store = study.store()
    secret = ResearcherStore(store).invite_researcher("Ada")
    store.close()
    return secret


def token(page: httpx2.Response) -> str:
    """The token of the forms of a page."""
    match = TOKEN.search(page.text)
    assert match is not None, page.text
    return match[1]


def seconds_of_papers(client: httpx2.Client) -> float:
    """From the click until the page says that they are made."""
    fields = {"token": token(client.get("/watch/run"))}
    begun = time.perf_counter()
    client.post("/watch/papers", data=fields)
    while time.perf_counter() - begun < LONGEST:
        page = client.get("/watch/run").text
        if "Being made" not in page:
            assert MADE.search(page), "neither being made nor made"
            return time.perf_counter() - begun
        time.sleep(0.2)
    raise TimeoutError(f"not made in {LONGEST:.0f} s")


if __name__ == "__main__":
    main()
