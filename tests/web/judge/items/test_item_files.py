"""Files of items on the site: how pages show them, how they are sent, and to whom."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.form_browser import Visitor
from support.item_files import essay, film, pdf, saved, scan, sound, write
from support.site import copy_study, edited
from tiewise.errors import InputWarning
from tiewise.study.backups.backup import make_backup
from tiewise.study.backups.restore import restore
from tiewise.study.create import create_study
from tiewise.study.researcher_store import ResearcherStore
from tiewise.study.study import Study
from tiewise.study.values import TokenPurpose
from tiewise.web.app import make_app
from tiewise.web.security import SANDBOX, SECURITY_HEADERS

KEY = "k" * 40
TABLE = """item,name,file,alt,transcript,description
p,Picture,p.png,A page about foxes,,
s,Scan,s.pdf,,,
a,Sound,a.wav,,"Hello.

And good-bye.",
v,Video,v.mp4,,,
t,Text,t.md,,,
d,Described,,,,"One paragraph,
two lines.

Another paragraph."
"""


@pytest.fixture(scope="module")
def template(tmp_path_factory) -> Study:
    """An item of every kind."""
    place = tmp_path_factory.mktemp("kinds")
    files = {
        "p.png": saved(scan(1400, 1800)), "s.pdf": pdf(["First page", "Second page"]),
        "a.wav": sound(3), "v.mp4": film(), "t.md": essay(300), "items.csv": TABLE,
    }  # fmt: skip
    folder = write(place / "in", files)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PATH", str(place))  # the frame of a film is none to ffmpeg
        with pytest.warns(InputWarning, match="ffmpeg is not"):
            return create_study(place / "s", question="Which?", items=folder)


@pytest.fixture
def study(template, tmp_path) -> Study:
    return copy_study(template, tmp_path / "s")


def judge_of(study: Study) -> Visitor:
    return Visitor(make_app(study, study.store(), secret=KEY)).join()


def shown(study: Study) -> dict[str, str]:
    """What a judge sees of every item, by its name."""
    judge, seen = judge_of(study), {}
    for _ in range(40):
        for part in re.split(r"(?=<section)", judge.answer.text.partition('<div class="bar"')[0])[
            1:
        ]:
            name = re.search(r"<bdi>(.*?)</bdi>", part)[1]
            seen[name] = part
        if len(seen) == len(study.items):
            break
        judge.judge("left")
    return seen


def addresses(study: Study) -> dict[str, str]:
    """The path of a copy of every kind that is served."""
    seen = shown(study)
    kinds = {"Picture": "picture", "Scan": "scan", "Sound": "sound", "Video": "video"}
    return {kind: re.search(r'src="(/file/[^"]+)"', seen[name])[1] for name, kind in kinds.items()}


def test_every_kind_is_shown_as_the_pair_page_knows_it(study):
    seen = shown(study)
    for name, kind in [("Picture", "picture"), ("Scan", "scan"), ("Sound", "sound"),
                       ("Video", "video"), ("Text", "text"), ("Described", "text")]:  # fmt: skip
        assert seen[name].count(f'<div class="reading" data-kind="{kind}">') == 1
        assert seen[name].count('class="reading"') == 1
    picture = seen["Picture"]
    assert 'width="1000" height="1286" alt="A page about foxes" loading="eager"' in picture
    assert (
        re.search(r'data-large="(/file/\w+\.webp)"', picture)[1]
        not in picture.partition("data-large")[0]
    )
    pages = seen["Scan"]
    assert re.findall(r'data-page="(\d)"', pages) == ["1", "2"]
    assert re.findall(r'alt="([^"]*)" loading="(\w+)"', pages) == [
        ("Scan, Page 1 of 2", "eager"), ("Page 2 of 2", "lazy"),
    ]  # fmt: skip
    assert '<div class="visually-hidden" dir="auto"><p>Second page</p></div>' in pages
    assert '<audio controls preload="metadata" aria-label="Sound">' in seen["Sound"]
    assert "<summary>Transcript</summary>" in seen["Sound"]
    assert "<p>And good-bye.</p>" in seen["Sound"]
    assert '<video controls playsinline preload="metadata" aria-label="Video">' in seen["Video"]
    assert 'type="video/mp4"' in seen["Video"]
    assert "<summary>" not in seen["Video"]
    assert '<div class="prose" dir="auto"><h3>On foxes</h3>' in seen["Text"]
    assert "<p>One paragraph,<br>two lines.</p>\n<p>Another paragraph.</p>" in seen["Described"]


def test_questions_in_turn_ask_once_that_both_are_opened(tmp_path):
    """Also of questions with answers of their own; after "I don't know" nothing was compared."""
    files = {"a.txt": "One text.", "b.txt": "Another text.", "c.txt": "A third text."}
    made = create_study(tmp_path / "s", question="Which?", items=write(tmp_path / "in", files))
    swaps = {
        'languages = ["en"]': 'languages = ["en"]\nasked = "in turn"',
        "both_seen = false": "both_seen = true",
    }
    more = "".join(
        f'[[questions]]\nid = "{id_}"\nquestion = "{id_}?"\n[questions.answers]\nties = true\n'
        for id_ in ("one", "two")
    )
    judge = judge_of(edited(made, swaps, more))
    for answer, asked_again in (("left", False), ("skip", True)):
        assert 'name="seen"' in judge.answer.text
        judge.send("/answer", answer, seen="yes")
        assert "Question 2 of 2" in judge.answer.text
        assert ('name="seen"' in judge.answer.text) == asked_again
        judge.send("/answer", "right", seen="yes")
    assert len(list(judge.client.app.state.site.store.rows())) == 4


def test_words_within_a_text_do_not_change_the_page_around_it(tmp_path):
    written = 'I wrote <p class="page" data-page="1"> and then <p class="page">, class="reading".'
    files = {"a.txt": written, "b.txt": "Another text."}
    made = create_study(tmp_path / "s", question="Which?", items=write(tmp_path / "in", files))
    page = judge_of(made).answer.text
    assert "I wrote &lt;p" in page
    assert "data-turn=" not in page
    assert "data-sizes" in page


def test_the_pages_of_two_texts_are_light(study):
    judge = judge_of(study)
    assert len(judge.get("/pair").text) < 60_000


@pytest.mark.slow
def test_a_pair_of_two_scans_of_four_noisy_pages_is_light(tmp_path):
    """At most 400 kB with every page of both, before anything is zoomed into; the font apart."""
    names = [f"{side}/{page}.jpg" for side in "ab" for page in range(4)]
    files = {
        name: saved(scan(1240, 1754, k, 9.0), "JPEG", quality=90) for k, name in enumerate(names)
    }
    study = create_study(tmp_path / "s", question="Which?", items=write(tmp_path / "in", files))
    judge = judge_of(study)
    page = judge.answer.text
    copies = re.findall(r'src="(/file/[^"]+)"', page)
    others = re.findall(r'(?:src|href)="(/static/[^"]+\.(?:css|js)[^"]*)"', page)
    assert len(copies) == 8
    assert len(others) >= 2
    sizes = [len(judge.client.get(path).content) for path in (*copies, *others)]
    assert sum(sizes) + len(page) <= 400_000


def test_a_file_is_sent_to_be_shown_and_never_run(study):
    judge, types = judge_of(study), {"sound": "audio/wav", "video": "video/mp4"}
    for kind, path in addresses(study).items():
        answer = judge.client.get(path)
        assert answer.status_code == 200
        assert answer.headers["content-type"] == types.get(kind, "image/webp")
        assert answer.headers["content-security-policy"] == SANDBOX
        assert SANDBOX == "sandbox; default-src 'none'"
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["cache-control"] == "private, max-age=31536000, immutable"
        assert answer.headers["accept-ranges"] == "bytes"
        assert "content-encoding" not in answer.headers
        again = judge.client.get(path, headers={"If-None-Match": answer.headers["etag"]})
        assert (again.status_code, again.content) == (304, b"")
        assert again.headers["content-security-policy"] == SANDBOX
        head = judge.client.head(path)
        assert (head.status_code, head.content) == (200, b"")
        assert int(head.headers["content-length"]) == len(answer.content)


def test_images_of_the_list_and_the_map_are_sandboxed_too(tmp_path):
    (tmp_path / "red.svg").write_text("<svg xmlns='http://www.w3.org/2000/svg'/>")
    (tmp_path / "items.csv").write_text("name,image\nRed,red.svg\nBlue,red.svg\n")
    study = create_study(tmp_path / "s", question="Which?", items=tmp_path / "items.csv")
    answer = judge_of(study).client.get("/image/1")
    assert answer.headers["content-type"] == "image/svg+xml"
    assert answer.headers["content-security-policy"] == SANDBOX


def test_a_program_or_style_among_the_images_is_not_shown(tmp_path):
    """Our own scripts and styles are served by name; of a study's files, pictures alone."""
    (tmp_path / "red.svg").write_text("<svg xmlns='http://www.w3.org/2000/svg'/>")
    (tmp_path / "items.csv").write_text("name,image\nRed,red.svg\nBlue,red.svg\n")
    study = create_study(tmp_path / "s", question="Which?", items=tmp_path / "items.csv")
    (study.folder / "images" / "run.js").write_text("alert(1)")
    listed = study.folder / "items.csv"
    listed.write_text(listed.read_text().replace("red.svg", "run.js", 1))
    judge = judge_of(Study.open(study.folder))
    assert [judge.client.get(f"/image/{k}").status_code for k in (1, 2)] == [404, 200]


def test_pages_may_play_what_is_here_and_nothing_from_elsewhere(study):
    policy = judge_of(study).answer.headers["content-security-policy"]
    assert policy == SECURITY_HEADERS["Content-Security-Policy"]
    assert "media-src 'self';" in policy


@pytest.mark.parametrize(
    ("asked", "first", "last"),
    [("bytes=0-99", 0, 99), ("bytes=100-", 100, None), ("bytes=-50", -50, None),
     ("bytes=10-10", 10, 10), ("Bytes=40-999999999", 40, None), ("bytes=-999999999", 0, None)],
)  # fmt: skip
def test_a_range_is_sent_as_it_was_asked_for(study, asked, first, last):
    judge, path = judge_of(study), addresses(study)["sound"]
    whole = judge.client.get(path).content
    answer = judge.client.get(path, headers={"Range": asked})
    part = whole[first : None if last is None else last + 1]
    start = len(whole) - len(part) if last is None else first
    assert answer.status_code == 206
    assert answer.content == part
    assert answer.headers["content-range"] == (
        f"bytes {start}-{start + len(part) - 1}/{len(whole)}"
    )
    assert answer.headers["content-security-policy"] == SANDBOX


def test_a_range_of_a_file_that_has_changed_is_the_whole_file(study):
    judge, path = judge_of(study), addresses(study)["sound"]
    whole = judge.client.get(path)
    asked = {"Range": "bytes=0-9"}
    fresh = judge.client.get(path, headers={**asked, "If-Range": whole.headers["etag"]})
    assert (fresh.status_code, len(fresh.content)) == (206, 10)
    for stale in ('"another"', f"W/{whole.headers['etag']}", "Wed, 21 Oct 2015 07:28:00 GMT"):
        answer = judge.client.get(path, headers={**asked, "If-Range": stale})
        assert (answer.status_code, answer.content) == (200, whole.content)


@pytest.mark.parametrize("asked", ["bytes=99999999-", "bytes=-0", "bytes=99999999-999999999"])
def test_a_range_beyond_the_end_is_refused_with_the_size(study, asked):
    judge, path = judge_of(study), addresses(study)["sound"]
    size = len(judge.client.get(path).content)
    answer = judge.client.get(path, headers={"Range": asked})
    assert answer.status_code == 416
    assert answer.headers["content-range"] == f"bytes */{size}"


@pytest.fixture(scope="module")
def fuzzed(template, tmp_path_factory) -> tuple[Visitor, str, bytes]:
    study = copy_study(template, tmp_path_factory.mktemp("fuzz") / "s")
    judge, path = judge_of(study), addresses(study)["sound"]
    return judge, path, judge.client.get(path).content


HEADER = st.text(st.characters(min_codepoint=32, max_codepoint=255, exclude_characters="\x7f"))
RANGES = st.one_of(
    HEADER, st.from_regex(r"bytes=[0-9]{0,20}-[0-9]{0,20}(, ?[0-9]{0,9}-[0-9]{0,9}){0,200}",
                          fullmatch=True),
)  # fmt: skip


@given(asked=RANGES, when=st.none() | HEADER, tags=st.none() | HEADER)
def test_whatever_is_asked_for_is_answered(fuzzed, asked, when, tags):
    """The whole, a part that is where it says, nothing new, or a refusal: never an error."""
    judge, path, whole = fuzzed
    values = {"Range": asked, "If-Range": when, "If-None-Match": tags}
    headers = {name: value.encode("latin-1") for name, value in values.items() if value is not None}
    answer = judge.client.get(path, headers=headers)
    assert answer.status_code in (200, 206, 304, 416)
    assert answer.headers["content-security-policy"] == SANDBOX
    if answer.status_code == 200:
        assert answer.content == whole
    if answer.status_code == 206:
        first, last = map(int, re.findall(r"\d+", answer.headers["content-range"])[:2])
        assert answer.content == whole[first : last + 1]


# To whom.


def test_files_are_for_those_who_take_part_and_nobody_else(study, template, tmp_path):
    paths = list(addresses(study).values())
    store = study.store()
    app = make_app(study, store, secret=KEY)
    nobody, judge = Visitor(app), Visitor(app).join()
    for path in paths:
        assert nobody.client.get(path).status_code == 404
        assert nobody.client.get(path, headers={"Range": "bytes=0-9"}).status_code == 404
        assert judge.client.get(path).status_code == 200
    secret = ResearcherStore(store).make_token(TokenPurpose.SHARE, label="partner")
    partner = Visitor(app)
    page = partner.client.get(f"/shared/{secret}")
    assert page.status_code == 200
    assert "/file/" not in page.text
    assert [partner.client.get(path).status_code for path in paths] == [404] * len(paths)
    other = copy_study(template, tmp_path / "other")
    stranger = Visitor(make_app(other, other.store(), secret="o" * 40)).join()
    app_of_study = Visitor(app)
    app_of_study.client.cookies = stranger.client.cookies
    assert [app_of_study.client.get(path).status_code for path in paths] == [404] * len(paths)
    judge.get("/leave")
    assert [judge.client.get(path).status_code for path in paths] == [404] * len(paths)


@pytest.mark.parametrize(
    "name", ["index.json", "..%2Fstudy.toml", "%2Fetc%2Fpasswd", "x.webp", "%00", "a.html"]
)
def test_nothing_but_copies_is_served(study, name):
    judge = judge_of(study)
    assert judge.client.get(f"/file/{name}").status_code == 404


def test_texts_are_no_files_of_their_own(study):
    judge = judge_of(study)
    (text,) = (study.folder / "media").glob("*.html")
    assert judge.client.get(f"/file/{text.name}").status_code == 404


def test_a_file_that_has_gone_is_not_an_error(study):
    judge, paths = judge_of(study), addresses(study)
    shutil.rmtree(study.folder / "media")
    assert [judge.client.get(path).status_code for path in paths.values()] == [404] * 4
    assert judge.get("/pair").status_code == 200


# Kept.


def test_a_backup_holds_the_copies(study, tmp_path):
    before = {path.name: path.read_bytes() for path in (study.folder / "media").iterdir()}
    store = study.store()
    archive = make_backup(study.folder, store.engine.url, key=None, out=tmp_path / "backup.tar.gz")
    restore(archive, tmp_path / "restored")
    after = {path.name: path.read_bytes() for path in Path(tmp_path, "restored/media").iterdir()}
    assert after == before
    assert shown(Study.open(tmp_path / "restored"))["Picture"]
