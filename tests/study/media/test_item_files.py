"""Files of items, taken in when a study is made: what they become, and what is refused."""

from __future__ import annotations

import os
import re
import shutil
import struct
import subprocess
from dataclasses import replace
from io import BytesIO
from pathlib import Path
from time import monotonic, sleep
from zlib import crc32

import numpy as np
import pytest
from PIL import Image
from pypdf import PdfReader, PdfWriter

from support.item_files import boxes, essay, film, pdf, saved, scan, sound, write
from tiewise.errors import InputError, InputWarning
from tiewise.study.checks.check import check_study
from tiewise.study.create import create_study
from tiewise.study.media.faults import FaultyFiles, FileFault
from tiewise.study.media.library import MediaLibrary
from tiewise.study.media.limits import FileLimits
from tiewise.study.media.pdf import _tidied
from tiewise.study.media.pictures import PAGE_BYTES, PICTURE_BYTES
from tiewise.study.media.prose import markdown_html, sanitised
from tiewise.study.study import Study

GOOD = "A good text of a few words.\n"


def made(place: Path, files: dict[str, bytes | str], **options: object) -> Study:
    """The study of a folder with these files."""
    return create_study(
        place / "study", question="Which?", items=write(place / "in", files), **options
    )


def copies(study: Study) -> MediaLibrary:
    return MediaLibrary.open(study.folder)


# What files become.


def test_a_folder_of_files_is_a_study_of_them(tmp_path):
    study = made(
        tmp_path,
        {
            "b.txt": GOOD, "a.md": essay(200), "page 10/2.png": saved(scan(page=2)),
            "page 10/10.png": saved(scan(page=10)), "page 2.jpg": saved(scan(page=3), "JPEG"),
            "c.pdf": pdf(["One", "Two"]), "d.wav": sound(), ".DS_Store": b"x", "Thumbs.db": b"x",
        },
    )  # fmt: skip
    assert list(study.items) == ["a", "b", "c", "d", "page 2", "page 10"]
    kinds = {name: item.kind for name, item in copies(study).items.items()}
    assert kinds == {
        "a.md": "text", "b.txt": "text", "c.pdf": "scan", "d.wav": "sound", "page 2.jpg": "picture",
        "page 10": "scan",
    }  # fmt: skip
    assert [page.text for page in copies(study).items["c.pdf"].pages] == ["One", "Two"]
    assert {path.name for path in (study.folder / "media").iterdir()} == {
        "index.json",
        *(name for item in copies(study).items.values() for name in item.copies),
    }
    with pytest.warns(InputWarning) as lines:
        assert check_study(study.folder) == []
    assert [str(line.message) for line in lines] == [
        "items.csv: 2 items have no alternative text ('page 2', 'page 10') for those who cannot "
        "see it; write it into a column alt",
        "items.csv: 1 item has no transcript ('d') for those who cannot hear it; write it into a "
        "column transcript",
    ]


def test_pages_follow_each_other_as_people_count(tmp_path):
    pages = {f"s/page{k}.png": saved(scan(100 + k, 200)) for k in (1, 2, 10, 11)}
    study = made(tmp_path, {**pages, "t.txt": GOOD})
    assert [page.width for page in copies(study).items["s"].pages] == [101, 102, 110, 111]


def test_a_table_names_files_words_for_them_and_what_is_said(tmp_path):
    table = (
        "item,name,file,alt,transcript,colour,Notes,transcript_fr\n"
        "x,A fox,fox.png,A fox that jumps,,red,n,\n"
        "y,A talk,talk.wav,,talk.txt,,,talk-fr.txt\n"
        'z,Another,more/b.wav,,"Hello, dog.",,,\n'
    )
    files = {
        "fox.png": saved(scan()), "talk.wav": sound(), "talk.txt": "Hello, fox.\n",
        "talk-fr.txt": "Bonjour, renard.\n",
        "more/b.wav": sound(2), "stray.png": saved(scan(page=9)),
    }  # fmt: skip
    folder = write(tmp_path / "in", {**files, "items.csv": table})
    with pytest.warns(InputWarning) as lines:
        study = create_study(tmp_path / "s", question="Which?", items=folder)
    assert [str(line.message) for line in lines] == [
        "columns that are not used: colour and Notes; files that the table does not name: stray.png"
    ]
    assert [(i.id, i.name, i.file, i.alt, i.transcript) for i in study.items.values()] == [
        ("x", "A fox", "fox.png", "A fox that jumps", ""),
        ("y", "A talk", "talk.wav", "", "Hello, fox."),
        ("z", "Another", "more/b.wav", "", "Hello, dog."),
    ]
    assert study.items["y"].in_language("fr").transcript == "Bonjour, renard."
    with pytest.warns(InputWarning, match="transcript_fr is not used"):
        assert check_study(study.folder) == []
    with pytest.warns(InputWarning, match="columns that are not used: colour and Notes$"):
        create_study(tmp_path / "t", question="Which?", items=folder / "items.csv")


def test_a_table_without_files_in_a_folder_of_files_is_refused(tmp_path):
    with pytest.raises(InputError, match="add a column file"):
        made(tmp_path, {"items.csv": "name\nAsh\nBirch\n", "a.png": saved(scan())})


def test_a_picture_is_turned_upright_and_tells_nothing_else(tmp_path):
    exif = Image.Exif()
    exif[0x0112], exif[0x010F] = 6, "SecretCamera"
    exif.get_ifd(0x8825)[1] = "N"
    sideways = scan(300, 500).rotate(90, expand=True)
    body = saved(sideways, "JPEG", exif=exif)
    assert b"SecretCamera" in body
    study = made(tmp_path, {"a.jpg": body, "b.txt": GOOD})
    (page,) = copies(study).items["a.jpg"].pages
    assert (page.width, page.height) == (300, 500)
    copy = (study.folder / "media" / page.web).read_bytes()
    with Image.open(BytesIO(copy)) as picture:
        assert (picture.format, picture.size) == ("WEBP", (300, 500))
        assert not picture.getexif()
        assert picture.info.get("exif", b"") == picture.info.get("icc_profile", b"") == b""
    assert b"SecretCamera" not in copy


@pytest.mark.parametrize(
    ("mode", "kind"),
    [("1", "PNG"), ("L", "PNG"), ("P", "GIF"), ("RGBA", "PNG"), ("CMYK", "JPEG"), ("I;16", "PNG"),
     ("LA", "PNG"), ("RGB", "BMP"), ("L", "TIFF"), ("RGB", "WEBP"), ("RGB", "AVIF")],
)  # fmt: skip
def test_pictures_of_every_mode_are_shown(tmp_path, mode, kind):
    grey = scan(200, 300).convert("L")
    deep = Image.fromarray(np.asarray(grey).astype(np.uint16) * 257)
    picture = deep if mode == "I;16" else grey.convert(mode)
    ending = {"JPEG": "jpg", "TIFF": "tif"}.get(kind, kind.lower())
    study = made(tmp_path, {f"a.{ending}": saved(picture, kind), "b.txt": GOOD})
    (page,) = copies(study).items[f"a.{ending}"].pages
    with Image.open(study.folder / "media" / page.web) as copy:
        shown = copy.convert("L").resize((1, 1), Image.Resampling.BOX).getpixel((0, 0))
    assert abs(shown - grey.resize((1, 1), Image.Resampling.BOX).getpixel((0, 0))) < 12


def test_a_tiff_of_several_pages_is_a_scan(tmp_path):
    pages = [scan(200, 300, page) for page in (1, 2, 3)]
    body = saved(pages[0], "TIFF", save_all=True, append_images=pages[1:])
    study = made(tmp_path, {"a.tiff": body, "b.txt": GOOD})
    assert copies(study).items["a.tiff"].kind == "scan"
    assert len(copies(study).items["a.tiff"].pages) == 3


@pytest.mark.slow
def test_large_scans_get_light_copies_and_one_to_zoom_into(tmp_path):
    """A scan of 40 megapixels, four noisy pages, and a PDF of twelve."""
    files = {f"s/{k}.jpg": saved(scan(2480, 3508, k, 9.0), "JPEG", quality=90) for k in range(4)}
    big = saved(scan(5400, 7600, 5, 9.0), "JPEG", quality=90)
    twelve = pdf([f"Page {k}" for k in range(1, 13)])
    study = made(tmp_path, {**files, "big.jpg": big, "twelve.pdf": twelve})
    library = copies(study)
    budgets = {"big.jpg": PICTURE_BYTES, "s": PAGE_BYTES, "twelve.pdf": PAGE_BYTES}
    for name, budget in budgets.items():
        for page in library.items[name].pages:
            assert (library.folder / page.web).stat().st_size <= budget
            assert 560 <= page.width <= 1000
            assert page.large_width >= 1600
            with Image.open(library.folder / page.large) as large:
                assert large.size == (page.large_width, page.large_height)
    assert len(library.items["twelve.pdf"].pages) == 12
    assert library.items["twelve.pdf"].pages[11].text == "Page 12"


def test_sound_loses_what_its_recorder_added(tmp_path):
    body = sound(1, note=b"INFOIART\x08\0\0\0Jane Doe")
    assert b"Jane Doe" in body
    study = made(tmp_path, {"a.wav": body, "b.wav": sound(2)})
    item = copies(study).items["a.wav"]
    assert item.bare
    assert (study.folder / "media" / item.file).read_bytes() == sound(1)
    kept = create_study(
        tmp_path / "kept", question="Which?", items=tmp_path / "in", keep_metadata=True
    )
    name = copies(kept).items["a.wav"].file
    assert (kept.folder / "media" / name).read_bytes() == body


def test_without_ffmpeg_it_is_said_that_video_keeps_what_it_tells(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.warns(InputWarning, match="ffmpeg is not installed, so that 'a.mp4' keep what"):
        study = made(tmp_path, {"a.mp4": film(), "b.txt": GOOD})
    item = copies(study).items["a.mp4"]
    assert (item.kind, item.bare, item.media_type) == ("video", False, "video/mp4")


@pytest.mark.skipif(shutil.which("ffmpeg") is None, reason="ffmpeg is not installed")
@pytest.mark.parametrize("ending", ["mp4", "webm", "mp3", "m4a", "ogg", "flac"])
def test_with_ffmpeg_recordings_lose_it(tmp_path, ending):
    seen = ["-f", "lavfi", "-i", "testsrc=size=64x64:rate=5:duration=1"]
    heard = ["-f", "lavfi", "-i", "sine=duration=1"]
    path = tmp_path / "in" / f"a.{ending}"
    path.parent.mkdir()
    words = [*(seen if ending in ("mp4", "webm") else ()), *heard, "-pix_fmt", "yuv420p"]
    about = ["-metadata", "artist=Jane Doe", "-metadata", "location=+51.5-000.1/"]
    subprocess.run(["ffmpeg", "-v", "error", *words, *about, path], check=True)
    assert b"Jane Doe" in path.read_bytes()
    study = made(tmp_path, {"b.txt": GOOD})
    item = copies(study).items[path.name]
    assert item.bare
    assert item.kind == ("video" if ending in ("mp4", "webm") else "sound")
    copy = study.folder / "media" / item.file
    assert b"Jane Doe" not in copy.read_bytes()
    probe = ["ffmpeg", "-v", "error", "-i", copy, "-f", "null", "-"]
    assert subprocess.run(probe, capture_output=True, check=True).stderr == b""


@pytest.mark.parametrize("list_", [True, False], ids=["lists", "quotations"])
def test_no_word_of_nested_parts_is_lost_unsaid(list_):
    """However deep they are: all words are there, or the text is refused."""
    shown = 0
    for depth in range(1, 60):
        rows = ["  " * k + f"- w{k}" for k in range(depth)]
        text = "\n".join(rows) if list_ else "> " * depth + f"w{depth - 1}"
        try:
            html = markdown_html(text)
        except FileFault:
            continue
        shown = depth
        assert {f"w{depth - 1}"} <= set(re.findall(r"w\d+", html))
        assert len(set(re.findall(r"w\d+", html))) == (depth if list_ else 1)
    assert 10 < shown < 59


def test_notes_that_look_like_definitions_of_links_are_shown():
    assert "<p>[1]: Smith</p>" in markdown_html("So it is [said][1].\n\n[1]: Smith\n")


def test_texts_keep_their_structure_and_nothing_dangerous(tmp_path):
    hostile = "# A\n\n<script>alert(1)</script>\n\n[x](javascript:alert(1)) <img src=x onerror=y>\n"
    plain = "One & two.\nSame paragraph.\n\nAnother <b>paragraph</b>.\n"
    study = made(tmp_path, {"a.md": essay() + hostile, "b.txt": plain, "c.txt": GOOD})
    library = copies(study)
    html = library.html(library.items["a.md"])
    for part in ("<h3>On foxes</h3>", "<h4>Part 1</h4>", "<table>", '<th scope="col">fox</th>',
                 "<li>second</li>", "<mfrac>", "<munderover>", 'display="block"'):  # fmt: skip
        assert part in html
    for part in ("<script", "href", "<img", "<a ", "style="):
        assert part not in html
    assert library.html(library.items["b.txt"]) == (
        "<p>One &amp; two.<br>Same paragraph.</p>\n<p>Another &lt;b&gt;paragraph&lt;/b&gt;.</p>"
    )


def test_the_text_of_a_pdf_keeps_its_blanks_and_joined_letters():
    tidied = _tidied("It weighs\u00a010\u2009kg\tor more\x02 \r\n\r\n می\u200cخواهم ")
    assert tidied == "It weighs 10 kg or more\nمی\u200cخواهم"


@pytest.mark.parametrize(
    ("tex", "parts"),
    [
        (r"x \text{ where a<b holds} = 3", ["where&nbsp;a&lt;b&nbsp;holds", "<mn>3</mn>"]),
        (r"\mbox{<table>} + y", ["&lt;table", "<mi>y</mi>"]),
        (r"\big< x", ["&lt;</mo>", "<mi>x</mi>"]),
        (r"\mathrm{a<b}", [">a</mi>", "&lt;</mo>", ">b</mi>"]),
        ("a<b", ["<mi>a</mi><mo>&lt;</mo><mi>b</mi>"]),
    ],
)
def test_a_formula_with_less_than_is_shown_whole(tex, parts):
    shown = sanitised(markdown_html(f"${tex}$"))
    for part in parts:
        assert part in shown
    assert "<table" not in shown


def test_lines_of_a_text_without_blank_lines_are_paragraphs(tmp_path):
    line = "word " * 40
    study = made(tmp_path, {"a.txt": f"{line}1\n{line}2\n", "b.txt": GOOD})
    assert copies(study).html(copies(study).items["a.txt"]).count("<p>") == 2


# What is refused.


def locked(body: bytes) -> bytes:
    """A PDF that asks for a password."""
    writer, out = PdfWriter(PdfReader(BytesIO(body))), BytesIO()
    writer.encrypt("secret")
    writer.write(out)
    return out.getvalue()


def film_of_pictures() -> bytes:
    return saved(scan(90, 90), "GIF", save_all=True, append_images=[scan(90, 90, 2)])


def png_of(width: int, height: int) -> bytes:
    """The beginning of a PNG that says how large it would be."""
    head = b"IHDR" + struct.pack(">IIBBBBB", width, height, 1, 0, 0, 0, 0)
    start = b"\x89PNG\r\n\x1a\n" + struct.pack(">I", 13) + head + struct.pack(">I", crc32(head))
    return start + struct.pack(">I", 9) + b"IDAT" + b"\0" * 13


PNG, JPEG = saved(scan(60, 80)), saved(scan(60, 80), "JPEG")
BAD = {
    "empty": ({"a.png": b""}, "a.png is empty"),
    "another ending": ({"a.jpg": PNG}, "a.jpg is a PNG picture, and its ending says JPEG"),
    "no ending": ({"a": PNG}, "a has no ending"),
    "unknown ending": ({"a.xyz": PNG}, "a.xyz cannot be shown in a browser as it is; there are"),
    "word document": ({"a.docx": b"PK\x03\x04"}, "a.docx cannot .*; save it as PDF"),
    "svg": ({"a.svg": "<svg/>"}, "a.svg cannot .*an SVG can hold programs; save it as PNG"),
    "svg called png": ({"a.png": "<svg><script/></svg>"}, "a.png is a SVG drawing"),
    "html called text": ({"a.pdf": "<!doctype html><p>"}, "a.pdf is a HTML page"),
    "program": ({"a.jpg": b"\x7fELF" + b"\0" * 90}, "a.jpg is a program"),
    "heic": ({"a.heic": b"x"}, "a.heic cannot .*; save it as JPEG"),
    "noise": ({"a.png": b"\0\1\2\3" * 50}, "a.png is damaged or something else"),
    "picture cut off": ({"a.jpg": JPEG[: len(JPEG) // 2]}, "a.jpg is damaged or cut off"),
    "png cut off": ({"a.png": PNG[: len(PNG) // 2]}, "a.png is damaged or cut off"),
    "too many pixels": ({"a.png": saved(Image.new("1", (2000, 600)))}, "2000 × 600 .*megapixels"),
    "bomb": ({"a.png": png_of(30000, 30000)}, "30000 × 30000 .*megapixels"),
    "one pixel": ({"a.png": saved(Image.new("L", (1, 1)))}, "1 × 1 pixels, which is nothing"),
    "a strip": ({"a.png": saved(Image.new("L", (20, 2000)))}, "nothing to look at"),
    "moving": ({"a.gif": film_of_pictures()}, "a.gif moves .2 pictures"),
    "too large": ({"a.txt": "word " * 500_000}, "a.txt has 2 MB, more than the 1 .*megabytes"),
    "too many words": ({"a.txt": "word " * 101}, "a.txt has 101 words, more than 100"),
    "too many letters": ({"a.txt": "\u6587" * 1201}, "1,201 letters, more than 100 words of 12"),
    "not utf-8": ({"a.txt": "caf\xe9\n\xfc".encode("latin-1")}, r"not UTF-8 .line 1."),
    "binary text": ({"a.txt": b"a\0b" * 9}, "a.txt is called a text and is no text"),
    "control characters": ({"a.txt": "a\x07b"}, r"a.txt holds the character '\\x07'"),
    "picture called text": ({"a.md": JPEG}, "a.md is called a text and is a JPEG picture"),
    "blanks": ({"a.txt": " \n\n \t"}, "a.txt holds nothing but blanks"),
    "broken formula": ({"a.md": r"So $\frac{1}{$."}, r"a.md has a formula .*\$\\frac"),
    "unknown command": ({"a.md": r"So $\nonsense x$."}, r"a.md has \\nonsense in the formula"),
    "quotations without end": ({"a.md": f"{'> ' * 60}deep"}, "a.md has lists or quotations within"),
    "picture in a text": ({"a.md": "![x](y.png)"}, r"a.md has a picture .y\.png., which texts"),
    "pdf with a password": ({"a.pdf": locked(pdf(["A"]))}, "a.pdf asks for a password"),
    "pdf cut off": ({"a.pdf": pdf(["A"])[:90]}, "a.pdf is damaged or cut off"),
    "pdf without pages": ({"a.pdf": pdf([])}, "a.pdf (has no pages|is damaged)"),
    "pdf of many pages": ({"a.pdf": pdf(["A"] * 4)}, "a.pdf has 4 pages, more than 3"),
    "pdf of a strip": ({"a.pdf": pdf(["A"], (9000, 10))}, "page 1 of 9000 × 10 points"),
    "sound cut off": ({"a.wav": sound()[:5000]}, "a.wav is damaged or cut off"),
    "silence": ({"a.wav": sound(0)}, "a.wav is damaged or cut off"),
    "video cut off": ({"a.mp4": film()[:-100]}, "a.mp4 is damaged or cut off"),
    "video without a header": (
        {"a.mp4": boxes((b"ftyp", b"isom\0\0\0\0"), (b"mdat", b"1"))}, "a.mp4 is damaged",
    ),
    "video not played": ({"a.mp4": film(b"hvc1")}, "a.mp4 is packed as HEVC"),
    "quicktime": ({"a.mov": b"x"}, "a.mov cannot .*; save it as MP4"),
    "quicktime called mp4": (
        {"a.mp4": boxes((b"ftyp", b"qt  \0\0\0\0"))}, "a.mp4 is a QuickTime video",
    ),
    "the same twice": ({"a.png": PNG, "c.png": PNG}, "c.png has the same content as a.png"),
    "a page of another": ({"a/1.png": PNG, "c.png": PNG}, "c.png has the same content as a/1.png"),
    "case": ({"a.png": PNG, "A.png": JPEG}, "A.png and a.png differ in upper and lower case|"
                                             "a.png and A.png differ in upper and lower case"),
    "one name": ({"a.png": PNG, "a.txt": "word"}, "a.txt and a.png would both be the item 'a'"),
    "page that is no picture": ({"a/1.png": PNG, "a/2.txt": "w"}, "a/2.txt is no picture"),
    "folder in a folder": ({"a/1.png": PNG, "a/b/2.png": JPEG}, "a/b is a folder in the folder"),
    "many pages": ({f"a/{k}.png": PNG + bytes([k]) for k in range(4)}, "folder a has 4 pages"),
    "together too large": ({f"{k}.txt": f"{k} " + "w" * 900_000 for k in range(4)}, "total"),
}  # fmt: skip
LIMITS = FileLimits.of(["megabytes=1", "megapixels=1", "pages=3", "words=100", "total=3"])


@pytest.mark.parametrize("kind", BAD)
def test_a_bad_file_is_refused_in_a_line_and_leaves_nothing(tmp_path, kind):
    files, words = BAD[kind]
    with pytest.raises(FaultyFiles, match=words) as caught:
        made(tmp_path, {**files, "zz.txt": GOOD}, limits=LIMITS)
    assert len(caught.value.faults) == 1
    assert ";" in caught.value.faults[0]
    assert "\n" not in caught.value.faults[0]
    assert {path.name for path in tmp_path.iterdir()} == {"in"}


def test_there_are_more_than_twenty_kinds_of_bad_files():
    assert len(BAD) > 40


def refused(place: Path, words: str) -> None:
    with pytest.raises(InputError, match=words):
        create_study(place / "study", question="Which?", items=place / "in")
    assert not (place / "study").exists()


def test_links_that_lead_outside_are_refused(tmp_path):
    write(tmp_path, {"secret.txt": "secret", "in/b.txt": GOOD})
    (tmp_path / "in" / "a.txt").symlink_to(tmp_path / "secret.txt")
    refused(tmp_path, "a.txt leads outside")
    (tmp_path / "in" / "a.txt").unlink()
    (tmp_path / "in" / "a.txt").symlink_to("b.txt.gone")
    refused(tmp_path, "a.txt is a link to nothing")
    (tmp_path / "in" / "a.txt").unlink()
    (tmp_path / "in" / "a").symlink_to(tmp_path, target_is_directory=True)
    refused(tmp_path, "a leads outside")


def test_what_is_no_file_is_refused_and_not_waited_for(tmp_path):
    write(tmp_path, {"in/b.txt": GOOD})
    os.mkfifo(tmp_path / "in" / "a.txt")
    refused(tmp_path, "a.txt is no file")


@pytest.mark.parametrize(
    ("name", "words"),
    [
        (b"caf\xe9.txt", r"'caf\\udce9.txt' is not UTF-8"),
        (b"caf\xe9/1.png", r"'caf\\udce9' is not UTF-8"),
        (b"a/caf\xe9.png", r"in the folder a, the name 'caf\\udce9.png' is not UTF-8"),
        (b" a.txt", "' a.txt' begins or ends with a blank"),
        (b"a .txt", "'a .txt' begins or ends with a blank"),
        (b"a /1.png", "'a ' begins or ends with a blank"),
        (b"a\x1b[2J.txt", r"'a\\x1b\[2J.txt' has a control character"),
    ],
)
def test_a_name_that_would_be_lost_is_refused(tmp_path, name, words):
    """Where it can be printed, whatever it is."""
    write(tmp_path, {"in/b.txt": GOOD})
    body = PNG if name.endswith(b"png") else GOOD.upper()
    write(tmp_path, {f"in/{os.fsdecode(name)}": body})
    with pytest.raises(FaultyFiles, match=words) as caught:
        create_study(tmp_path / "study", question="Which?", items=tmp_path / "in")
    assert str(caught.value).encode()
    assert not (tmp_path / "study").exists()


def test_a_file_that_a_table_does_not_name_is_said_whatever_it_is_called(tmp_path):
    files = {"items.csv": "name,file\nA,a.txt\nB,b.txt\n", "a.txt": GOOD, "b.txt": GOOD * 2}
    write(tmp_path / "in", {**files, os.fsdecode(b"caf\xe9.txt"): GOOD})
    with pytest.warns(InputWarning, match="does not name: .*caf") as caught:
        create_study(tmp_path / "study", question="Which?", items=tmp_path / "in")
    assert str(caught[0].message).encode()


def test_an_empty_folder_of_pages_is_refused(tmp_path):
    write(tmp_path, {"in/b.txt": GOOD})
    (tmp_path / "in" / "a").mkdir()
    refused(tmp_path, "the folder a is empty")


@pytest.mark.parametrize(
    ("cell", "words"),
    [("gone.png", "gone.png is not there"), ("../secret.txt", "leads outside"),
     ("/etc/hostname.txt", "is not there|leads outside"), ("b.txt", "the file of 'A' and of 'B'")],
)  # fmt: skip
def test_a_table_that_names_no_good_file_is_refused(tmp_path, cell, words):
    table = f"name,file\nA,{cell}\nB,b.txt\n"
    write(tmp_path, {"secret.txt": "secret", "in/b.txt": GOOD, "in/items.csv": table})
    refused(tmp_path, words)


def test_everything_that_is_wrong_is_said_at_once(tmp_path):
    with pytest.raises(FaultyFiles, match=r"a.png is empty.* \(and 1 more\)") as caught:
        made(tmp_path, {"a.png": b"", "b.png": b"x", "c.txt": GOOD})
    assert len(caught.value.faults) == 2


@pytest.mark.parametrize(
    ("value", "words"),
    [("page=3", "no limit is called 'page'; there are megabytes"), ("pages=0", "'pages=0' is not"),
     ("pages", "'pages' is not one"), ("pages=-1", "is not one"), ("pages=1e9", "is not one")],
)  # fmt: skip
def test_limits_that_cannot_be_are_refused(value, words):
    with pytest.raises(InputError, match=words):
        FileLimits.of([value])


def test_limits_are_settings_that_a_check_goes_by(tmp_path):
    """What a study was made with is written down; a lower limit names what is beyond it."""
    study = made(tmp_path, {"a.pdf": pdf(["One", "Two", "Three"]), "b.txt": GOOD}, limits=LIMITS)
    assert study.settings.files == LIMITS
    assert check_study(study.folder) == []
    path = study.folder / "study.toml"
    path.write_text(path.read_text().replace("pages = 3 ", "pages = 2 "))
    assert check_study(study.folder) == [
        "files.pages: 'a.pdf' has 3 pages, more than 2; raise it, or make the study anew without "
        "that file"
    ]


# Decoding apart.


def test_a_file_that_needs_too_much_memory_is_refused(tmp_path):
    body = saved(Image.new("RGB", (5000, 5000)), "PNG")
    with pytest.raises(FaultyFiles, match=r"a.png .*memory"):
        made(tmp_path, {"a.png": body, "b.txt": GOOD}, limits=replace(LIMITS, megapixels=99,
             megabytes=99, total=99, memory=130))  # fmt: skip


def test_a_file_that_takes_too_long_is_refused_and_the_next_one_taken(tmp_path, monkeypatch):
    from tiewise.study.media import process

    limits = FileLimits.of(["seconds=3"])
    with process.DecodingProcess(limits) as decoding:
        write(tmp_path, {"a.txt": GOOD})
        values = {"path": str(tmp_path / "a.txt"), "out": str(tmp_path), "words": 100}
        assert decoding.run("text", "a.txt", **values).endswith(".html")
        os.kill(decoding._process.pid, 19)  # it stands still, as one that is caught in a loop
        with pytest.raises(InputError, match="a.txt takes longer than 3 seconds to decode"):
            decoding.run("text", "a.txt", **values)
        assert decoding.run("text", "a.txt", **values).endswith(".html")
        os.kill(decoding._process.pid, 9)
        decoding._process.wait()
        assert decoding.run("text", "a.txt", **values).endswith(".html")


def test_what_a_decoder_has_started_ends_with_it(tmp_path, monkeypatch):
    """An ffmpeg that hangs does not go on after the limit of time."""
    from tiewise.study.media import process

    program = tmp_path / "bin" / "ffmpeg"
    write(
        tmp_path, {"bin/ffmpeg": '#!/bin/sh\necho $$ > "$0.pid"\nexec sleep 60\n', "a.mp4": film()}
    )
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")
    values = {"path": str(tmp_path / "a.mp4"), "out": str(tmp_path), "ending": ".mp4"}
    limits = FileLimits.of(["seconds=2"])
    slow = pytest.raises(InputError, match="takes longer than 2 seconds")
    with process.DecodingProcess(limits) as decoding, slow:
        decoding.run("recording", "a.mp4", reader="mp4", keep=False, **values)
    number = (tmp_path / "bin" / "ffmpeg.pid").read_text().strip()
    assert ends(int(number))


def ends(process: int) -> bool:
    """Whether a process that was killed is gone soon, or waits for whoever collects the dead."""
    state, until = Path("/proc", str(process), "stat"), monotonic() + 10
    while monotonic() < until:
        if not state.exists() or ") Z " in state.read_text():
            return True
        sleep(0.01)
    return False


# Looked over.


def test_copies_that_have_gone_are_named(tmp_path):
    study = made(tmp_path, {"a.txt": GOOD, "b.txt": GOOD + "more"})
    library = copies(study)
    (library.folder / library.items["a.txt"].file).unlink()
    (fault,) = check_study(study.folder)
    assert "a copy of 'a.txt', is not there; restore it from a backup" in fault
    table = study.folder / "items.csv"
    table.write_text(table.read_text().replace("b.txt", "c.txt"))
    assert "'c.txt', the file of 'b', has no copies in media/" in check_study(study.folder)[1]


@pytest.mark.parametrize("damage", ["{", "[]", '{"items": {"a": {}}}', "swap"])
def test_an_index_that_was_changed_is_refused(tmp_path, damage):
    study = made(tmp_path, {"a.txt": GOOD, "b.txt": GOOD + "more"})
    path = study.folder / "media" / "index.json"
    name = copies(study).items["a.txt"].file
    body = path.read_text().replace(name, "../../study.toml") if damage == "swap" else damage
    path.write_text(body)
    (fault,) = check_study(study.folder)
    assert "index.json cannot be read; restore it from a backup" in fault
