"""Long texts as safe HTML: paragraphs, headings, lists, tables, and mathematics as MathML.

Texts are read in the process that decodes, and cleaned once more when they are shown.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable
from html import escape
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

from tiewise.study.media.faults import FileFault

if TYPE_CHECKING:
    from markdown_it.token import Token

ENDING = ".html"
TAGS = {
    "p", "br", "hr", "h3", "h4", "h5", "h6", "ul", "ol", "li", "blockquote", "pre", "code", "em",
    "strong", "s", "sub", "sup", "div", "table", "thead", "tbody", "tr", "th", "td",
}  # fmt: skip
MATHEMATICS = {
    "math", "mrow", "mi", "mn", "mo", "ms", "mtext", "mspace", "mfrac", "msqrt", "mroot", "msub",
    "msup", "msubsup", "munder", "mover", "munderover", "mmultiscripts", "mprescripts", "mtable",
    "mtr", "mtd", "mstyle", "mpadded", "mphantom", "menclose",
}  # fmt: skip
ATTRIBUTES = {
    "math": {"display", "alttext", "xmlns"}, "mi": {"mathvariant"},
    "mo": {"stretchy", "fence", "form", "separator", "movablelimits", "largeop", "minsize",
           "maxsize", "lspace", "rspace", "accent"},
    "mfrac": {"linethickness", "bevelled"}, "mspace": {"width", "linebreak"},
    "mstyle": {"displaystyle", "scriptlevel", "mathsize", "mathvariant"},
    "mover": {"accent"}, "munder": {"accentunder"}, "munderover": {"accent", "accentunder"},
    "mtable": {"columnalign", "rowspacing", "columnspacing", "displaystyle"},
    "mtd": {"columnalign"}, "menclose": {"notation"}, "mpadded": {"width", "height", "depth"},
    "ol": {"start"}, "th": {"scope"},
}  # fmt: skip
CLASSES = {"div": {"math", "block"}}
LETTERS = 12
"""Of a word at most, on average: some scripts write without blanks."""
LONG_LINES = 90
"""Letters of a line from which lines are paragraphs where no blank lines divide them."""
DEEPEST = 6
BELOW = 2
"""Levels above a text's headings: the question and the name of the item."""
NESTED = 40
"""Levels of lists and quotations, a list being two; the parser leaves out what is deeper."""
LESS = "\ufdd0"
"""Stands for < while a formula is converted; no text has it."""
LESS_ALONE = re.compile(f"<mi( [^<>]*)?>{LESS}</mi>")
UNKNOWN = re.compile(r">(\\[A-Za-z]+)<")


def take_plain(path: str, out: str, *, words: int) -> str:
    """A plain text copied into a folder as HTML; the name of the copy."""
    return _take(path, out, words, plain_html)


def take_markdown(path: str, out: str, *, words: int) -> str:
    """A Markdown text copied into a folder as HTML; the name of the copy."""
    return _take(path, out, words, markdown_html)


def _take(path: str, out: str, words: int, as_html: Callable[[str], str]) -> str:
    body = sanitised(as_html(read_text(Path(path), words=words))).encode()
    name = f"{hashlib.sha256(body).hexdigest()[:24]}{ENDING}"
    Path(out, name).write_bytes(body)
    return name


def read_text(path: Path, *, words: int) -> str:
    """A text that can be shown: UTF-8, with words in it, and not too many."""
    body = path.read_bytes()
    try:
        text = body.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = body.count(b"\n", 0, error.start) + 1
        raise FileFault(
            f"is not UTF-8 (line {line}), so that letters would be lost; save it as UTF-8"
        ) from None
    strange = next((letter for letter in text if letter < " " and letter not in "\t\n\r\f\v"), None)
    if strange is not None:
        raise FileFault(f"holds the character {strange!r}, which is no text; save it as UTF-8")
    there = text.split()
    if not there:
        raise FileFault("holds nothing but blanks; is it the right file?")
    if len(there) > words:
        raise FileFault(
            f"has {len(there):,} words, more than {words:,}; shorten it, or raise the limit words"
        )
    letters = sum(map(len, there))
    if letters > words * LETTERS:
        raise FileFault(
            f"has {letters:,} letters, more than {words:,} words of {LETTERS}; shorten it, or "
            "raise the limit words"
        )
    return "\n".join(text.splitlines())


def plain_html(text: str) -> str:
    """Paragraphs of a plain text: between blank lines, or its lines where those are long."""
    blocks = [block.strip("\n") for block in re.split(r"\n\s*\n", text) if block.strip()]
    if len(blocks) == 1 and median(map(len, blocks[0].split("\n"))) > LONG_LINES:
        blocks = blocks[0].split("\n")
    return "\n".join(f"<p>{escape(block).replace(chr(10), '<br>')}</p>" for block in blocks)


def markdown_html(text: str) -> str:
    """Markdown as HTML, its TeX as MathML; what would be lost is refused."""
    from markdown_it import MarkdownIt
    from mdit_py_plugins.dollarmath import dollarmath_plugin

    reader = MarkdownIt("commonmark", {"html": False, "maxNesting": NESTED})
    # A definition of a link would go unseen, as would a note that looks like one.
    reader.enable(["table", "strikethrough"]).disable("reference")
    reader.use(
        dollarmath_plugin, double_inline=True, allow_space=False, allow_digits=False,
        renderer=_mathematics,
    )  # fmt: skip
    tokens = reader.parse(text)
    if any(token.level >= NESTED - 1 for token in tokens):
        raise FileFault(
            "has lists or quotations within each other, deeper than can be shown; make them flatter"
        )
    for token in tokens:
        _check_pictures(token)
        if token.type in ("heading_open", "heading_close"):
            token.tag = f"h{min(int(token.tag[1]) + BELOW, DEEPEST)}"
        if token.type == "th_open":
            token.attrs = {"scope": "col"}
    return str(reader.renderer.render(tokens, reader.options, {}))


def _check_pictures(token: Token) -> None:
    for part in token.children or ():
        if part.type == "image":
            raise FileFault(
                f"has a picture ({part.attrs.get('src', '')}), which texts cannot have; make it a "
                "PDF, or take the picture out"
            )


def _mathematics(tex: str, options: dict[str, Any]) -> str:
    """TeX as MathML; a formula that cannot be read is refused."""
    from latex2mathml.converter import convert

    display = "block" if options.get("display_mode") else "inline"
    try:
        # Within \text and the like the converter leaves < as it is, as if a tag began there.
        made = str(convert(tex.replace("<", LESS), display=display))
    except Exception as error:  # its own classes, and others where braces do not match
        raise FileFault(f"has a formula that cannot be read, {_short(tex)}; correct it") from error
    made = LESS_ALONE.sub(r"<mo\1>&lt;</mo>", made).replace(LESS, "&lt;")
    unknown = UNKNOWN.search(made)
    if unknown:
        raise FileFault(
            f"has {unknown[1]} in the formula {_short(tex)}, which is not known here; write it "
            "with plain LaTeX"
        )
    return made.replace("<math ", f'<math alttext="{escape(tex.strip(), quote=True)}" ', 1)


def _short(tex: str) -> str:
    flat = " ".join(tex.split())
    return f"${flat[:40]}{'…' if len(flat) > 40 else ''}$"


def sanitised(html: str) -> str:
    """HTML without anything but text, its structure and mathematics: no links, no programs."""
    import nh3

    cleaned = nh3.clean(
        html, tags=TAGS | MATHEMATICS, attributes=ATTRIBUTES, allowed_classes=CLASSES,
        clean_content_tags={"script", "style"}, link_rel=None,
    )  # fmt: skip
    return str(cleaned)
