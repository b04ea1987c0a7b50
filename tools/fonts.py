"""Makes the fonts of the site from Vazirmatn: a variable file for each script, two for Latin.

    npm pack vazirmatn@33.0.3 && tar xzf vazirmatn-33.0.3.tgz
    python tools/fonts.py "package/fonts/variable/Vazirmatn[wght].ttf"

It needs fonttools and brotli, which the developers' tools bring. The licence, package/OFL.txt, is
beside the fonts as vazirmatn-OFL.txt; the ranges below are those of @font-face in fonts.css.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from fontTools import subset
from fontTools.ttLib import TTFont
from fontTools.varLib import instancer

STATIC = Path(__file__).parents[1] / "src" / "tiewise" / "web" / "static"
WEIGHTS = (400, 700)
SCRIPTS = {
    "latin": "0020-007E 00A0-00FF 0131 0152-0153 0178 02C6 02DA 02DC 2002-200D 2010-2015 2017-201E "
    "2020-2022 2026-2027 2030 2032-2033 2039-203A 2044 20AC 2116 2122 2212 2248 2260 2264-2265 "
    "FB01-FB02",
    "latin-extended": "0100-0130 0132-0151 0154-0177 0179-017F 0192 0218-021B 02BC 02C7 02D8-02D9 "
    "02DB 02DD 2202 2206 2211 221A 221E 222B",
    "arabic": "060C-060D 061B 061F 0621-063A 0640-0655 0660-0671 0674 0679 067C 067E 0681 "
    "0685-0686 0688-0689 0691 0693 0695-0696 0698 069A 06A4 06A9 06AB 06AD 06AF 06B5 06BA "
    "06BC-06BE 06C0-06C3 06C6-06D0 06D2-06D5 06F0-06F9 200C-200E 2010-2011 25CC",
}
LATIN_FEATURES = ["kern", "ccmp", "locl", "liga", "tnum", "mark", "mkmk"]
FEATURES = {
    "latin": LATIN_FEATURES,
    "latin-extended": LATIN_FEATURES,
    "arabic": [
        "kern", "ccmp", "locl", "init", "medi", "fina", "rlig", "liga", "calt", "mark", "mkmk",
    ],
}  # fmt: skip


def code_points(ranges: str) -> list[int]:
    """The code points of ranges in hexadecimal, such as "0020-007E 20AC"."""
    points: list[int] = []
    for part in ranges.split():
        first, _, last = part.partition("-")
        points.extend(range(int(first, 16), int(last or first, 16) + 1))
    return points


def make(source: Path, script: str) -> Path:
    """The font of one script, without the weights and features that no page asks for."""
    font = TTFont(source)
    options = subset.Options()
    options.flavor = "woff2"
    options.layout_features = FEATURES[script]
    options.hinting = False
    options.name_IDs = [1, 2, 13, 14]
    options.notdef_outline = True
    subsetter = subset.Subsetter(options)
    subsetter.populate(unicodes=code_points(SCRIPTS[script]))
    subsetter.subset(font)
    font = instancer.instantiateVariableFont(font, {"wght": WEIGHTS})
    path = STATIC / f"vazirmatn-{script}.woff2"
    subset.save_font(font, str(path), options)
    return path


def main() -> None:
    """Make them all, and print what each weighs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("source", type=Path, help="the variable font, Vazirmatn[wght].ttf")
    source = parser.parse_args().source
    for script in SCRIPTS:
        path = make(source, script)
        print(f"{path.name}: {path.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
