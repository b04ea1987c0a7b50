"""A study of every kind of item with files as people have them, made once and served.

The processes of the tests share what is made: each serves a copy of its own.
"""

from __future__ import annotations

import base64
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import uvicorn

from support.form_browser import Visitor
from support.item_files import FOX, essay, pdf, saved, scan, sound, write
from support.processes import made_once
from support.site import copy_study, edited, free_port, with_database
from tiewise.geo.areas import Areas
from tiewise.study.create import create_study
from tiewise.study.study import Study
from tiewise.web.app import make_app

if TYPE_CHECKING:
    from playwright.sync_api import Browser

LARGE = "Ashby and the long valley"
"""The item of every study whose file is as large as they come; its name takes two lines."""
OTHERS = ("Birch", "Cedar")
RECORD = """seconds => new Promise(done => {
  const canvas = Object.assign(document.createElement("canvas"), {width: 640, height: 480});
  const pen = canvas.getContext("2d"), parts = [];
  const draw = setInterval(() => {
    pen.fillStyle = `hsl(${performance.now() / 5 % 360} 60% 50%)`;
    pen.fillRect(0, 0, 640, 480);
  }, 40);
  const recorder = new MediaRecorder(canvas.captureStream(25), {mimeType: "video/webm"});
  let bytes = 0;
  const begun = performance.now();
  recorder.ondataavailable = event => {
    parts.push(event.data);
    bytes += event.data.size;
    // On a machine that is busy, a moment has no frame in it yet.
    const enough = bytes > 4000 && performance.now() - begun >= 1000 * seconds;
    if (enough && recorder.state === "recording") recorder.stop();
  };
  recorder.onstop = () => {
    clearInterval(draw);
    const reader = new FileReader();
    reader.onload = () => done(reader.result.split(",")[1]);
    reader.readAsDataURL(new Blob(parts));
  };
  recorder.start(100);
})"""


def video(browser: Browser, seconds: float) -> bytes:
    """A film that changes its colour, four by three, recorded by the browser."""
    context = browser.new_context()
    page = context.new_page()
    body = base64.b64decode(page.evaluate(RECORD, seconds))
    context.close()
    return body


def large_scan() -> bytes:
    """A JPEG of 40 million pixels, such as a phone takes of a page."""
    return saved(scan(600, 850, page=9).resize((5320, 7520)), "JPEG", quality=80)


def _pdf(pages: int, number: int) -> bytes:
    return pdf([f"Script {number}, page {k + 1}: {FOX}" for k in range(pages)])


Files = dict[str, bytes | str]
TRANSCRIPT = "First paragraph.\n\nSecond paragraph."


def _texts(browser: Browser) -> list[Files]:
    return [{f"{k}.md": essay(1500 if k == 0 else 300 * k)} for k in range(3)]


def _pictures(browser: Browser) -> list[Files]:
    return [{"0.jpg": large_scan()}, *({f"{k}.png": saved(scan(page=k))} for k in (1, 2))]


def _scans(browser: Browser) -> list[Files]:
    return [
        {f"{k}/{page}.png": saved(scan(page=10 * k + page, noise=0.5)) for page in range(1, 5)}
        for k in range(3)
    ]


def _pdfs(browser: Browser) -> list[Files]:
    return [{f"{k}.pdf": _pdf(12 if k == 0 else 1, k)} for k in range(3)]


def _sounds(browser: Browser) -> list[Files]:
    return [{f"{k}.wav": sound(180 if k == 0 else k)} for k in range(3)]


def _videos(browser: Browser) -> list[Files]:
    return [{f"{k}.webm": video(browser, 0.6 + k / 5)} for k in range(3)]


FILES: dict[str, Callable[[Browser], list[Files]]] = {
    "long text": _texts, "picture": _pictures, "scan": _scans, "PDF": _pdfs, "sound": _sounds,
    "video": _videos,
}  # fmt: skip
KINDS = ("area", "short text", *FILES)


@dataclass(frozen=True)
class ServedKind:
    """The study of a kind, while it is served."""

    kind: str
    url: str
    app: object

    def judge(self, language: str) -> Visitor:
        """A judge who has answered at least once and sees the large item."""
        judge = Visitor(self.app, base=self.url)
        judge.get(f"/?language={language}")
        judge.join()
        judge.judge("tie")
        while LARGE not in judge.answer.text.partition('<div class="bar"')[0]:
            judge.judge("tie")
        return judge


def make_study(kind: str, place: Path, browser: Browser) -> Study:
    """The study of a kind, in English and Arabic, with its database."""
    source = _source(kind, place, browser)
    # Where there is no ffmpeg, that films keep what else they tell.
    heard = warnings.catch_warnings(record=True) if kind == "video" else nullcontext()
    with heard:
        study = create_study(
            place / "study", question="Which of the two is better argued?", **source
        )
    return with_database(edited(study, {'languages = ["en"]': 'languages = ["en", "ar"]'}))


def _source(kind: str, place: Path, browser: Browser) -> dict[str, Path]:
    if kind == "area":
        areas = replace(Areas.synthetic(4, rng=1), names=(LARGE, *OTHERS, "Dover"))
        areas.to_gpkg(place / "map.gpkg")
        return {"areas": place / "map.gpkg"}
    files = FILES[kind](browser) if kind in FILES else [{}, {}, {}]
    rows = ["item,name,file,alt,transcript,description"]
    for k, (name, own) in enumerate(zip((LARGE, *OTHERS), files, strict=True)):
        file = next(iter(own), "").partition("/")[0]
        words = TRANSCRIPT if kind in ("sound", "video") else ""
        text = f"{name}: {FOX}" if kind == "short text" else ""
        rows.append(f'{k},{name},{file},{FOX if own else ""},"{words}",{text}')
    written = {name: body for own in files for name, body in own.items()}
    folder = write(place / "in", written | {"items.csv": "\n".join(rows) + "\n"})
    return {"items": folder / "items.csv"}


@contextmanager
def served(kind: str, shared: Path, own: Path, browser: Browser) -> Iterator[ServedKind]:
    """The study of a kind, made once in a folder that processes share, and served from its copy."""
    made = made_once(shared / kind, lambda place: make_study(kind, place, browser))
    study = copy_study(Study.open(made / "study"), own)
    app = make_app(study, study.store(), secret="r" * 40)
    port = free_port()
    server = uvicorn.Server(uvicorn.Config(app, port=port, log_level="error"))
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        assert thread.is_alive()
        time.sleep(0.02)
    yield ServedKind(kind, f"http://127.0.0.1:{port}", app)
    server.should_exit = True
    thread.join(10)
