"""The report: its numbers are those of the tables, and nothing in it can do harm."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import shlex
import shutil
from dataclasses import replace
from importlib.resources import files
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result
from matplotlib.figure import Figure

from support import report_studies as reports
from support.everyday import everyday
from support.report_studies import ODD, STUDIES, Element, csv_rows, read_page, table_rows
from tiewise.cli.main import main
from tiewise.errors import InputError
from tiewise.plots.definition import Plot
from tiewise.posterior.results_folder import Results, read_results
from tiewise.posterior.summaries import tie_curve
from tiewise.report import html, pictures
from tiewise.report.html import rendered, rewrite_report, write_report

BORROWED = "not compared: estimate borrowed from its neighbours"


@pytest.fixture(
    scope="module",
    params=everyday(STUDIES, *[name for name in STUDIES if name != "thousands"]),
)
def study(request, county, tmp_path_factory) -> Results:
    """Each of the studies in its turn."""
    if request.param == "county":
        return county
    return STUDIES[request.param](tmp_path_factory.mktemp("study") / request.param)


@pytest.fixture(scope="module")
def page(study) -> Element:
    """The page of each study, without the pictures."""
    return read_page(rendered(study, {}))


@pytest.fixture(scope="module")
def county(tmp_path_factory) -> Results:
    return reports.county(tmp_path_factory.mktemp("county") / "results")


@pytest.fixture(scope="module")
def reported(county, tmp_path_factory) -> Results:
    """The county with its pictures and its page."""
    folder = tmp_path_factory.mktemp("reported") / "results"
    shutil.copytree(county.folder, folder)
    results = read_results(folder)
    write_report(results)
    return results


@pytest.fixture
def unmapped(tmp_path) -> Results:
    return reports.unmapped(tmp_path / "results")


def everything(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


def seen(text: str) -> str:
    """Text as a page shows it: without control characters, and with single spaces."""
    return " ".join(re.sub(r"[\x00-\x08\x0e-\x1f]", "", text).split())


# Numbers.


def same(shown: str, stored: str, digits: int, *, signed: bool = False) -> bool:
    """Whether a number on the page is that of a file, rounded to these digits."""
    if stored == "":
        return shown == "–"
    number = float(stored)
    text = f"{number:+.{digits}f}" if signed else f"{number:,.{digits}f}"
    zero = float(text.replace(",", "")) == 0
    return shown.replace("−", "-") in (text, text.lstrip("+-") if zero else text)


def value(cell: Element, stored: str, key: str = "data-value") -> bool:
    """Whether a cell carries the number of a file in full."""
    shown = cell.attributes[key]
    return shown == stored == "" or float(shown) == float(stored)


def test_every_row_of_the_list_is_a_row_of_items_csv(study, page):
    stored = {row["item"]: row for row in csv_rows(study.folder / "items.csv")}
    rows = table_rows(page, "items")
    assert len(rows) == len(stored)
    heads = [seen(head.text) for head in page.by_id("items").every("thead")[0].every("th")]
    seldom = {"top_k_probability": any(head.startswith("Chance") for head in heads)}
    by_item = {seen(item): row for item, row in stored.items()}
    positions = {seen(item): k + 1 for k, item in enumerate(stored)}
    for element, cells in rows:
        row = by_item[seen(element.attributes["data-item"])]
        name, estimate, interval, sd, position, *others = cells
        assert seen(name.every("bdi")[0].text) == seen(row["name"])
        assert value(estimate, row["mean"])
        assert same(seen(estimate.text), row["mean"], 2, signed=True)
        assert value(interval, row["q2.5"], "data-low")
        assert value(interval, row["q97.5"], "data-high")
        low, high = seen(interval.every("span")[0].text).split(" to ")
        assert same(low, row["q2.5"], 2, signed=True)
        assert same(high, row["q97.5"], 2, signed=True)
        assert value(sd, row["sd"])
        assert same(seen(sd.text), row["sd"], 2)
        assert int(position.attributes["data-value"]) == positions[seen(row["item"])]
        assert value(position, row["rank_q2.5"], "data-low")
        assert value(position, row["rank_q97.5"], "data-high")
        assert seen(position.text).split()[0] == f"{positions[seen(row['item'])]}"
        if row["rank_q2.5"] != row["rank_q97.5"]:
            ends = f"could be {int(row['rank_q2.5']):,} to {int(row['rank_q97.5']):,}"
            assert seen(position.text).endswith(ends) or len(rows) == 1
        assert value(others[-1], row["comparisons"])
        if seldom["top_k_probability"]:
            assert value(others[0], row["top_k_probability"])


def test_the_list_begins_with_the_highest(page):
    means = [float(cells[1].attributes["data-value"]) for _, cells in table_rows(page, "items")]
    assert means == sorted(means, reverse=True)
    heads = page.by_id("items").every("thead")[0].every("th")
    assert [head.attributes.get("aria-sort") for head in heads if "aria-sort" in head.attributes]
    assert heads[1].attributes["aria-sort"] == "descending"


def test_the_parameters_are_those_of_parameters_csv(study, page):
    stored = csv_rows(study.folder / "parameters.csv")
    rows = table_rows(page, "parameters")
    assert len(rows) == len(stored) >= 2
    for (_, cells), row in zip(rows, stored, strict=True):
        word = {"share": "map in the prior", "map_share": "map"}.get(row["parameter"])
        assert (word or row["parameter"]) in cells[0].text
        keys = list(row)[1:]
        digits = [3, 3, 3, 3, 3, 0, 0, 3]
        for cell, key, places in zip(cells[1:], keys, digits, strict=True):
            assert value(cell, row[key])
            assert same(seen(cell.text), row[key], places)


def test_ranks_and_chances_are_left_out_where_nothing_is_known_of_them(tmp_path):
    text = seen(read_page(rendered(reports.point(tmp_path / "point"), {})).by_id("list").text)
    assert "Chance" not in text
    assert "could be" not in text
    assert "Standard error" in text


def test_the_answer_stands_first_and_names_who_is_likely_among_the_highest(county):
    page = read_page(rendered(county, {}))
    first = next(one for one in page.all() if one.tag == "section")
    assert first.attributes["id"] == "answer"
    likely = [
        row["name"] for row in csv_rows(county.folder / "items.csv")
        if float(row["top_k_probability"]) >= 0.8
    ]  # fmt: skip
    lead = next(one for one in first.all() if one.attributes.get("class") == "lead")
    assert likely
    assert all(name in lead.text for name in likely)


# Never compared.


def test_who_was_never_compared_is_marked_wherever_it_is_shown(county):
    page = read_page(rendered(county, {}))
    for element, cells in table_rows(page, "items"):
        silent = element.attributes["data-item"] in reports.SILENT
        assert (BORROWED in cells[0].text) is silent
        assert (seen(cells[-1].text) == "never") is silent
        shape = page.by_id("a" + element.attributes["id"][1:])
        assert (BORROWED in shape.every("title")[0].text) is silent
    hatched = [one for one in page.all() if one.attributes.get("class") == "hatched"]
    assert len(hatched) == len(reports.SILENT)
    assert BORROWED in page.by_id("map").text


def test_where_all_were_compared_nothing_is_hatched(tmp_path):
    text = rendered(reports.alone(tmp_path / "alone"), {})
    shown = read_page(text)
    silent = csv_rows(tmp_path / "alone" / "items.csv")[0]["comparisons"] == "0"
    hatched = [one for one in shown.all() if one.attributes.get("class") == "hatched"]
    assert len(hatched) == int(silent)


# Names and words of other people.


def test_names_are_text_and_never_tags(tmp_path):
    text = rendered(reports.odd(tmp_path / "odd"), {})
    page = read_page(text)
    names = [cells[0].every("bdi")[0].text for _, cells in table_rows(page, "items")]
    assert sorted(map(seen, names)) == sorted(map(seen, ODD))
    assert len(page.every("script")) == 1
    plain = read_page(rendered(reports.unmapped(tmp_path / "plain"), {}))
    assert {one.tag for one in page.all()} == {one.tag for one in plain.all()}
    assert not {"more", "odder"} & {one.text for one in page.every("b") + page.every("i")}
    assert page.every("h1")[0].text == 'Which is <b>more</b> "odd" & why, {{ 7 * 7 }}?'
    assert "49" not in page.every("h1")[0].text
    assert page.every("title")[0].text == page.every("h1")[0].text


def test_no_control_character_reaches_the_page(study):
    text = rendered(study, {})
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]", text)
    assert text.encode("utf-8").decode("utf-8") == text


def test_names_from_right_to_left_do_not_turn_their_sentence(tmp_path):
    results = reports.turned(tmp_path / "turned")
    page = read_page(rendered(results, {}))
    for section in ("answer", "sure", "data"):
        sentences = page.by_id(section).every("p") + page.by_id(section).every("dd")
        text = "".join(sentence.text for sentence in sentences)
        before = {
            text[match.start() - 1] for name in reports.TURNED for match in re.finditer(name, text)
        }
        assert before == {"\N{FIRST STRONG ISOLATE}"}
        assert text.count("\N{FIRST STRONG ISOLATE}") == text.count("\N{POP DIRECTIONAL ISOLATE}")


# One file, which asks nobody for anything.


def attributes(page: Element, name: str) -> list[str]:
    return [one.attributes[name] for one in page.all() if name in one.attributes]


def test_the_page_allows_its_own_style_and_script_and_nothing_else(page):
    meta = next(m for m in page.every("meta") if "http-equiv" in m.attributes)
    rules = dict(
        rule.strip().split(" ", 1) for rule in meta.attributes["content"].split(";") if rule
    )
    assert rules["default-src"] == "'none'"
    assert rules["img-src"] == "data:"
    for tag, rule in (("style", "style-src"), ("script", "script-src")):
        (element,) = page.every(tag)
        digest = hashlib.sha256(element.text.encode("utf-8")).digest()
        assert rules[rule] == f"'sha256-{base64.b64encode(digest).decode()}'"
    assert attributes(page, "style") == []
    assert [one for one in page.all() for key in one.attributes if key.startswith("on")] == []


def test_links_stay_inside_the_page(page):
    ids = attributes(page, "id")
    assert len(ids) == len(set(ids))
    assert all(link[0] == "#" and link[1:] in ids for link in attributes(page, "href"))
    assert page.every("link") == page.every("iframe") == page.every("base") == []
    assert all(source.startswith("data:") for source in attributes(page, "src"))
    for name in ("aria-labelledby", "aria-describedby", "for"):
        assert set(" ".join(attributes(page, name)).split()) <= set(ids)
    painted = [re.fullmatch(r"url\(#(.+)\)", fill) for fill in attributes(page, "fill")]
    assert {match[1] for match in painted if match} <= set(ids)


def test_nothing_in_style_or_script_fetches_anything():
    for name in ("report.css", "report.js"):
        text = (files("tiewise.report") / "templates" / name).read_text(encoding="utf-8")
        assert not re.search(r"https?:|url\(|@import|fetch|XMLHttp|import\(|WebSocket|</", text)


def test_headings_go_down_one_step_at_a_time(page):
    ranks = [int(one.tag[1]) for one in page.all() if re.fullmatch(r"h[1-6]", one.tag)]
    assert ranks.count(1) == 1
    assert ranks[0] == 1
    assert all(after <= before + 1 for before, after in pairwise(ranks))


def test_tables_have_captions_and_headings_have_scopes(page):
    assert len(page.every("table")) >= 3
    for table in page.every("table"):
        assert seen(table.every("caption")[0].text)
        assert all(head.attributes["scope"] in ("row", "col") for head in table.every("th"))
        widths = {len(row.every("th") + row.every("td")) for row in table.every("tr")}
        assert len(widths) == 1


def test_the_templates_are_in_the_package():
    place = files("tiewise.report") / "templates"
    for name in ("report.html.jinja", "report.css", "report.js"):
        assert (place / name).is_file()


# Pictures.


def test_every_picture_is_in_the_page_and_in_the_folder(reported):
    """As the file has it, byte for byte; the first map is the one that answers to the mouse."""
    page = read_page((reported.folder / "report.html").read_text(encoding="utf-8"))
    inside = []
    for image in page.every("img"):
        kind, data = image.attributes["src"].split(";base64,")
        assert kind in ("data:image/svg+xml", "data:image/png")
        inside.append(base64.b64decode(data))
        assert len(image.attributes["alt"]) > 20
        assert int(image.attributes["width"]) > 100 < int(image.attributes["height"])
    drawn: dict[str, set[bytes]] = {}
    for path in (reported.folder / "pictures").iterdir():
        drawn.setdefault(path.stem, set()).add(path.read_bytes())
    assert len(drawn) > 5
    assert {path.suffix for path in (reported.folder / "pictures").iterdir()} == {".svg"}
    drawn.pop("map")
    assert len(inside) == len(drawn)
    assert all(any(picture in kinds for kinds in drawn.values()) for picture in inside)


@pytest.mark.parametrize(("png", "large"), [(False, 10**9), (True, 10**9), (False, 1)])
def test_a_picture_is_a_png_too_on_request_or_where_its_svg_is_large(
    tmp_path, monkeypatch, png, large
):
    monkeypatch.setattr(pictures, "LARGE_SVG", large)
    figure = Figure(figsize=(1, 2))
    inside = pictures.embedded(Plot("square", "A square", "nothing", figure), tmp_path, png=png)
    kinds = ["png", "svg"] if png or large == 1 else ["svg"]
    written = {kind: (tmp_path / f"square.{kind}").read_bytes() for kind in kinds}
    assert sorted(path.name for path in tmp_path.iterdir()) == [f"square.{one}" for one in kinds]
    smaller = min(written.values(), key=len)
    assert base64.b64decode(inside.source.partition(";base64,")[2]) == smaller
    assert (inside.width, inside.height) == (96, 192)


@pytest.mark.slow
def test_the_same_results_give_the_same_bytes(reported, tmp_path):
    shutil.copytree(reported.folder, tmp_path / "again")
    for path in (tmp_path / "again" / "pictures").iterdir():
        path.unlink()
    (tmp_path / "again" / "report.html").unlink()
    assert write_report(read_results(tmp_path / "again")) == tmp_path / "again" / "report.html"
    assert everything(tmp_path / "again") == everything(reported.folder)


def test_progress_comes_to_its_end(unmapped, monkeypatch):
    quickly(monkeypatch)
    steps: list[tuple[str, int, int]] = []
    write_report(unmapped, progress=lambda *step: steps.append(step))
    assert steps[-1][1] == steps[-1][2] > 0
    assert [done for _, done, _ in steps] == sorted(done for _, done, _ in steps)


def test_ties_are_half_as_frequent_at_the_difference_that_is_named(unmapped):
    """The first of all differences that are looked at, though few of them are computed."""
    curve = tie_curve(unmapped.tree, np.linspace(0, 20, 801))
    first = curve[curve["median"] <= curve["median"].iloc[0] / 2].iloc[0]
    assert f"at a difference of {first['gap']:.1f} the chance is half" in rendered(unmapped, {})


# The map.


def test_areas_that_were_not_in_the_study_are_grey_and_say_so(tmp_path):
    results = reports.partly(tmp_path / "partly")
    page = read_page(rendered(results, {}))
    outside = [one for one in page.all() if one.attributes.get("class") == "outside"]
    assert [one.every("title")[0].text for one in outside] == ["not in this study"]
    inside = [one for one in page.all() if one.attributes.get("class") == "area"]
    assert len(inside) == 2
    assert len(table_rows(page, "items")) == 3


def test_the_highest_is_the_reddest_and_the_lowest_the_bluest(county):
    page = read_page(rendered(county, {}))
    rows = {row.attributes["id"][1:]: cells for row, cells in table_rows(page, "items")}
    warmth = {}
    for key, cells in rows.items():
        fill = page.by_id("a" + key).attributes["fill"]
        warmth[float(cells[1].attributes["data-value"])] = int(fill[1:3], 16) - int(fill[5:7], 16)
    medians = sorted(warmth)
    assert all((warmth[median] > 0) == (median > 0) for median in medians if abs(median) > 0.05)


# To repeat it.

WAYS = {
    "map": ["--areas", "areas.gpkg", "--question", "Which 'ward' is \"worse\"?", "--noun", "ward"],
    "plain": ["--top", 2],
    "names": ["--names", "names.csv"],
    "independent": ["--areas", "areas.gpkg", "--prior", "independent"],
    "distance": ["--areas", "areas.gpkg", "--prior", "distance", "--reach", 9000],
    "fixed": ["--variance", 1, "--tie-prior", "fixed(0.5)"],
    "priors": ["--variance-prior", "half-normal(2)", "--tie-prior", "gamma(2, 3)"],
    "paper": ["--areas", "areas.gpkg", "--priors", "paper"],
    "one of both": ["--areas", "areas.gpkg", "--tie-prior", "exponential(0.01)"],
    "no ties": ["--no-ties"],
}
QUICK = ["--engine", "laplace", "--draws", 100, "--seed", 11]


@pytest.fixture
def desk(tmp_path, monkeypatch) -> Path:
    """A folder with judgements of a made-up county, which one sits in."""
    from tiewise.workflows.simulate import write_simulated_study

    write_simulated_study(tmp_path / "made", county=6, comparisons=120, rng=5)
    for name in ("comparisons.csv", "areas.gpkg"):
        shutil.copy(tmp_path / "made" / name, tmp_path)
    names = "".join(f"{k},Ward no. {k}\n" for k in range(1, 7))
    (tmp_path / "names.csv").write_text(f"item,name\n{names}", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*words: object) -> Result:
    result = CliRunner().invoke(main, [str(word) for word in words])
    assert result.exit_code == 0, result.output
    return result


def repeated(desk: Path, words: list[object], monkeypatch) -> tuple[str, str]:
    """Fit, and go where the page says to be; the command and the lines of Python."""
    run("fit", "comparisons.csv", *words, "--no-report", "--out", "out")
    page = read_page(rendered(read_results("out"), {}))
    shutil.copy("comparisons.csv", "out")
    monkeypatch.chdir(desk / "out")
    return page.by_id("command").text, page.by_id("python").text


@pytest.mark.parametrize("way", everyday(WAYS, "map"))
def test_the_command_on_the_page_gives_the_same_again(desk, monkeypatch, way):
    command, _ = repeated(desk, [*WAYS[way], *QUICK], monkeypatch)
    words = shlex.split(command)
    assert words[0] == "tiewise"
    run(*words[1:], "--no-report")
    assert Path("again/items.csv").read_bytes() == Path("items.csv").read_bytes()
    assert Path("again/study.json").read_bytes() == Path("study.json").read_bytes()
    facts = [
        json.loads(Path(p).read_text(encoding="utf-8")) for p in ("fit.json", "again/fit.json")
    ]
    assert facts[0]["model"] == facts[1]["model"]


@pytest.mark.parametrize("way", everyday(WAYS, "names"))
def test_the_lines_of_python_give_the_same_again(desk, monkeypatch, way):
    _, lines = repeated(desk, [*WAYS[way], *QUICK], monkeypatch)
    monkeypatch.setattr(html, "write_report", lambda *_, **__: None)
    exec(compile(lines, "the page", "exec"), {})
    assert Path("again/items.csv").read_bytes() == Path("items.csv").read_bytes()


@pytest.mark.parametrize(
    "engine",
    everyday(["caron-doucet", "maximum-likelihood", "gibbs", "transport"], "transport"),
)
def test_any_engine_can_be_repeated(desk, monkeypatch, engine):
    draws = [] if engine == "maximum-likelihood" else ["--draws", 200]
    command, _ = repeated(desk, ["--engine", engine, *draws, "--seed", 3], monkeypatch)
    run(*shlex.split(command)[1:], "--no-report")
    assert Path("again/items.csv").read_bytes() == Path("items.csv").read_bytes()


def test_every_prior_has_its_numbers_explained():
    from tiewise.model.scalar_priors import TIE_PRIORS, VARIANCE_PRIORS
    from tiewise.registry import load

    assert all(load(line).numbers for line in [*VARIANCE_PRIORS.values(), *TIE_PRIORS.values()])


def test_every_prior_of_quality_is_explained():
    from tiewise.model import QUALITY_PRIORS
    from tiewise.registry import load

    assert all(load(line).meaning for line in QUALITY_PRIORS.values())


# Written again, in other words.


def quickly(monkeypatch) -> None:
    monkeypatch.setattr(pictures, "PLOTS", {})


def test_the_report_can_be_reworded(unmapped, monkeypatch):
    quickly(monkeypatch)
    before = everything(unmapped.folder)
    result = run("report", unmapped.folder, "--question", "Which stop is safer?", "--noun", "stop")
    assert result.stdout == f"Report in {unmapped.folder / 'report.html'}\n"
    after = everything(unmapped.folder)
    words = json.loads(after["study.json"])
    was = json.loads(before["study.json"])
    assert words == was | {"question": "Which stop is safer?", "noun": "stop"}
    assert '<h1 dir="auto">Which stop is safer?</h1>' in after["report.html"].decode()
    changed = {name for name in after if after[name] != before.get(name)}
    assert changed == {"study.json", "report.html", "checks.csv"}


@pytest.mark.slow
def test_another_top_changes_its_chances(unmapped, monkeypatch):
    quickly(monkeypatch)
    quality = unmapped.tree["posterior/quality"].to_numpy().reshape(-1, 6)
    items = list(unmapped.tree["posterior/item"].to_numpy())
    run("report", unmapped.folder, "--top", 4)
    for row in csv_rows(unmapped.folder / "items.csv"):
        k = items.index(row["item"])
        higher = (quality > quality[:, [k]]).sum(axis=1)
        assert float(row["top_k_probability"]) == pytest.approx((higher < 4).mean())
    run("report", unmapped.folder, "--top", 99)
    assert json.loads((unmapped.folder / "study.json").read_text())["top"] == 5


def test_what_is_no_results_folder_is_refused(tmp_path):
    result = CliRunner().invoke(main, ["report", str(tmp_path)])
    assert result.exit_code == 2
    assert re.fullmatch(r"tiewise: .* is not a results folder: .*`tiewise fit`\n", result.stderr)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("mishap", everyday([ValueError, KeyboardInterrupt], KeyboardInterrupt))
def test_a_broken_run_leaves_the_old_report(reported, tmp_path, monkeypatch, mishap):
    shutil.copytree(reported.folder, tmp_path / "copy")
    before, load = everything(tmp_path / "copy"), pictures.load

    def figure(results):
        raise mishap

    def fragile(line):
        plot = load(line)
        return replace(plot, figure=figure) if plot.name == "parameters" else plot

    monkeypatch.setattr(pictures, "load", fragile)
    with pytest.raises(mishap):
        rewrite_report(read_results(tmp_path / "copy"), question="Which?", top=1)
    assert everything(tmp_path / "copy") == before
    assert not list((tmp_path / "copy").glob(".*"))


def test_a_folder_that_cannot_be_written_to_is_named(unmapped, monkeypatch):
    def locked(**_: object) -> str:
        raise PermissionError(13, "whatever")

    monkeypatch.setattr(html.tempfile, "mkdtemp", locked)
    with pytest.raises(InputError, match=r"results cannot be written \(Permission denied\)"):
        write_report(unmapped)


def test_old_pictures_do_not_stay_beside_a_new_page(unmapped, monkeypatch):
    quickly(monkeypatch)
    place = unmapped.folder / "pictures"
    place.mkdir()
    for name in ("map.svg", "mine.svg"):
        (place / name).touch()
    write_report(unmapped)
    assert [path.name for path in place.iterdir()] == ["mine.svg"]
