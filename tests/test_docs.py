"""What the pages say is so: code runs, commands parse, links lead somewhere, tables are whole."""

from __future__ import annotations

import ast
import contextlib
import re
import shlex
from dataclasses import asdict, fields
from pathlib import Path
from typing import NamedTuple

import click
import numpy as np
import pytest

from support.everyday import everyday
from tiewise.cli.main import main
from tiewise.study.settings import StudySettings

ROOT = Path(__file__).parents[1]
DOCS = sorted((ROOT / "docs").glob("*.md"))
PAGES = {
    page.relative_to(ROOT).as_posix(): page.read_text(encoding="utf-8")
    for page in [*sorted(ROOT.glob("*.md")), *DOCS]
}
COMMAND = PAGES["docs/command.md"]


class Block(NamedTuple):
    """A piece of a page that is not prose."""

    language: str
    text: str


def blocks(page: str) -> list[Block]:
    """Fenced blocks with their language, and indented ones with none, in their order."""
    parsed, fence, indented = [], None, []
    for line in [*PAGES[page].splitlines(), ""]:
        if fence is not None:
            if line.startswith("```"):
                parsed.append(fence)
                fence = None
            else:
                fence = Block(fence.language, fence.text + line + "\n")
        elif line.startswith("```"):
            fence = Block(line.strip("`").strip(), "")
        elif line.startswith("    "):
            indented.append(line[4:])
        elif indented:
            parsed.append(Block("", "\n".join(indented)))
            indented = []
    return parsed


def with_language(language: str) -> list[str]:
    return [page for page in PAGES if any(block.language == language for block in blocks(page))]


def test_blocks_are_found():
    """A reader that found nothing would let every other test here pass."""
    assert {"README.md", "docs/areas.md", "docs/data.md"} <= set(with_language("python"))
    assert any(block.text.startswith("tiewise") for block in blocks("docs/areas.md"))


# Python on the pages.


@pytest.fixture
def desk(tmp_path, monkeypatch):
    """A folder with the files that the pages speak of, and a data set that needs no internet."""
    from tiewise.geo.areas import Areas
    from tiewise.geo.graph import Graph
    from tiewise.model.map_priors import Network
    from tiewise.model.scalar_priors.fixed import Fixed
    from tiewise.model.simulate import Truth, simulate_comparisons
    from tiewise.workflows import datasets

    areas = Areas.synthetic(6, rng=2)
    graph, rng = Graph.from_areas(areas), np.random.default_rng(2)
    truth = Truth.from_priors(Network(graph), Fixed(1.0), Fixed(0.5), rng)
    comparisons = simulate_comparisons(truth, 40, rng)
    columns = {"id": "ward_code", "name": "ward_name", "group": "borough"}
    areas.frame().rename(columns=columns).to_file(tmp_path / "wards.gpkg")
    comparisons.to_csv(tmp_path / "study.csv")

    def load(name: str) -> datasets.Dataset:
        assert name in datasets.names()
        return datasets.Dataset(name, "A village.", comparisons, graph, areas, None)

    monkeypatch.setattr(datasets, "load", load)
    monkeypatch.chdir(tmp_path)
    return tmp_path


# The blocks of that page are files and lines of them: test_extending.py runs them.
RUN_ELSEWHERE = "docs/extending.md"


PYTHON_PAGES = [page for page in with_language("python") if page != RUN_ELSEWHERE]
LONG_PAGES = (
    "docs/designs.md", "docs/experiments.md", "docs/extensions.md", "docs/judge-kinds.md",
    "docs/models.md", "docs/pictures.md", "docs/planning.md", "docs/report.md",
    "docs/robustness.md",
)  # fmt: skip
DAILY_PAGES = [page for page in PYTHON_PAGES if page not in LONG_PAGES]


@pytest.mark.parametrize("page", everyday(PYTHON_PAGES, *DAILY_PAGES))
def test_python_on_a_page_runs(page, desk):
    """Blocks share their names, as in one sitting; a table shown is the file that is then read."""
    scope: dict[str, object] = {}
    for block in blocks(page):
        if block.language == "csv":
            for name in ("study.csv", "judgements.csv"):
                (desk / name).write_text(block.text, encoding="utf-8")
        elif block.language == "python":
            exec(compile(block.text, page, "exec"), scope)


def test_the_readme_tells_its_first_fit_as_it_is(desk):
    """The numbers shown beneath the example, but for the noise of another machine."""
    import tiewise as tw

    table, shown = (
        next(block.text for block in blocks("README.md") if block.language == language)
        for language in ("csv", "text")
    )
    (desk / "judgements.csv").write_text(table, encoding="utf-8")
    tree = tw.fit(tw.BradleyTerry(tw.read_comparisons("judgements.csv").counts()), rng=1)
    summary = tw.summarise(tree, top=1).set_index("item")
    line = r"^\d+ +\d to \d +([A-Z][\w ]+?) +([+-][\d.]+) .* (\d+) % +\d+$"
    rows = re.findall(line, shown, re.MULTILINE)
    assert {item for item, _, _ in rows} == set(summary.index)
    for item, quality, first in rows:
        assert abs(summary["mean"][item] - float(quality)) < 0.1
        assert abs(summary["top_k_probability"][item] - int(first) / 100) < 0.05


# Commands on the pages.

SPOKEN = re.compile(r"^(?:\.venv[/\\](?:bin|Scripts)[/\\])?tiewise( .*)?$", re.MULTILINE)


def commands() -> list[tuple[str, str]]:
    return [
        (page, line[0].split("tiewise", 1)[1].strip())
        for page in PAGES
        for block in blocks(page)
        if block.language in ("", "sh", "powershell")
        for line in SPOKEN.finditer(block.text)
    ]


def parse(line: str) -> None:
    """Parse the words after `tiewise` as the command does, and go no further."""
    words = shlex.split(line)
    with contextlib.suppress(click.exceptions.Exit):  # after --help and --version
        if not words or words[0] not in main.commands:
            main.make_context("tiewise", words)
            raise click.UsageError(f"no command {line!r}")
        # With the settings of the program: a command remembers its help option from here on.
        parent = click.Context(main, **main.context_settings)
        main.commands[words[0]].make_context(words[0], words[1:], parent=parent)


@pytest.mark.parametrize(("page", "line"), commands())
def test_commands_on_a_page_parse(page, line):
    parse(line)


@pytest.mark.parametrize(
    "line", ["fit", "fit a.csv --frob", "fit a.csv --engine steam", "data atlantis", "brew"]
)
def test_a_wrong_command_would_be_noticed(line):
    with pytest.raises(click.UsageError):
        parse(line)


def test_make_has_the_targets_that_pages_name():
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    named = {name for text in PAGES.values() for name in re.findall(r"`make ([\w-]+)`", text)}
    assert {"demo", "test"} <= named
    assert named <= set(re.findall(r"^([\w-]+):", makefile, re.MULTILINE))


# The reference is complete.


def section(page: str, heading: str) -> str:
    """What stands under a heading, up to the next one of its rank or higher."""
    rank = len(heading.split(" ")[0])
    after = page.split(f"\n{heading}\n", 1)[1]
    return re.split(rf"\n#{{1,{rank}}} ", after, maxsplit=1)[0]


def rows(text: str, heading: str) -> list[list[str]]:
    """The rows of every table whose first column has this heading."""
    cells_of_rows, inside = [], False
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if not line.startswith("|"):
            inside = False
        elif inside and set(line) - set("|-"):
            cells_of_rows.append(cells)
        elif cells[0] == heading:
            inside = True
    return cells_of_rows


def ticked(text: str) -> list[str]:
    return re.findall(r"`([^`\n]+)`", text)


@pytest.mark.parametrize("name", sorted(main.commands))
def test_every_option_is_explained_and_no_other(name):
    text = section(COMMAND, f"## tiewise {name}")
    known = {
        option: parameter
        for parameter in main.commands[name].params
        if isinstance(parameter, click.Option)
        for option in (*parameter.opts, *parameter.secondary_opts)
        if option not in ("-h", "--help")
    }
    assert set(re.findall(r"(?<![\w-])--[a-z][a-z-]*", text)) == set(known)
    for option, *cells in rows(text, "option"):
        default = known[ticked(option)[0]].default
        if isinstance(default, str | int | float) and not isinstance(default, bool):
            assert re.search(rf"(?<![\d.]){default}(?!\.?\d)", " ".join(cells)), option


@pytest.mark.parametrize("page", ["docs/command.md", "docs/inference.md"])
def test_every_engine_is_explained(page):
    from tiewise.engines import ENGINES

    assert set(ENGINES) <= set(ticked(PAGES[page]))


def test_every_prior_that_can_be_said_is_explained():
    from tiewise.model.scalar_priors import TIE_PRIORS, VARIANCE_PRIORS
    from tiewise.model.scalar_priors.notation import parse_prior

    text = section(COMMAND, "## tiewise fit")
    for option, kinds in (("--variance-prior", VARIANCE_PRIORS), ("--tie-prior", TIE_PRIORS)):
        cell = next(row[2] for row in rows(text, "option") if ticked(row[0]) == [option])
        words = [word.strip("'") for word in ticked(cell)]
        assert {word.split("(")[0] for word in words} == set(kinds)
        assert all(parse_prior(word, kinds) for word in words)


@pytest.fixture(scope="module")
def tree(village):
    from tiewise.engines.laplace import Laplace
    from tiewise.posterior.fit import fit

    return fit(village.model, Laplace(draws=200), rng=2)


def test_every_file_column_and_key_is_explained(tree):
    from tiewise.plots import PLOTS
    from tiewise.posterior.results_folder import FILES, Wording, fit_facts
    from tiewise.posterior.summaries import parameters, summarise

    def listed(heading: str, first: str) -> list[str]:
        cells = [row[0] for row in rows(section(COMMAND, heading), first)]
        return [name for cell in cells for name in ticked(cell)]

    every = list(PLOTS)
    assert sorted(listed("## The results folder", "file")) == sorted(FILES)
    assert sorted(listed("## The results folder", "picture")) == sorted(every)
    assert listed("### items.csv", "column") == list(summarise(tree, 2).columns)
    assert listed("### parameters.csv", "column") == list(parameters(tree).reset_index().columns)
    # The verdict is handed in when results are written; rows and draws are seldom left out, and
    # these answers are not graded.
    facts = {*fit_facts(tree), "verdict", "left_out", "kept_one_of", "grades"}
    assert sorted(listed("### fit.json", "key")) == sorted(facts)
    assert set(ticked(section(COMMAND, "### study.json"))) == {f.name for f in fields(Wording)}
    variables = {str(name) for name in tree["posterior"].data_vars}
    assert {"posterior", *variables} <= set(ticked(section(COMMAND, "### posterior.nc")))


def sentences() -> str:
    """Every text in the code; of one that is filled in, the pieces between."""
    nodes = [
        node
        for path in (ROOT / "src").rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
    ]
    return "\n".join(str(n.value) for n in nodes if isinstance(n, ast.Constant))


def test_every_warning_that_is_explained_is_one_that_is_given():
    """The longest piece of it without numbers is in the code, word for word."""
    known = sentences()
    documented = rows(section(COMMAND, "## Warnings, and what to do about them"), "it says")
    assert len(documented) > 8
    for cell, *_ in documented:
        pieces = re.split(r"…|\d+|\(|\)", cell.strip("*"))
        assert max(pieces, key=len).strip() in known, cell


def test_limits_of_files_are_those_of_the_page():
    from tiewise.study.media.limits import FileLimits

    stated = {ticked(row[0])[0]: row[2] for row in rows(PAGES["docs/items.md"], "limit")}
    assert stated == {name: f"{number:,}" for name, number in asdict(FileLimits()).items()}


def test_every_key_of_a_study_is_explained():
    from tiewise.study.settings import (
        TRANSLATED,
        AnchorSettings,
        PracticePair,
        QuestionSettings,
        Settings,
        SignUpField,
    )

    page = PAGES["docs/study.md"]
    lists = {
        "judges.fields": SignUpField, "anchors": AnchorSettings, "questions": QuestionSettings,
        "practice": PracticePair,
    }  # fmt: skip
    keys = {
        f"{table.name}.{key.name}"
        for table in fields(Settings)
        if table.name not in ("translations", *lists)
        for key in fields(table.default_factory if table.name != "study" else StudySettings)
    }
    documented = {name for row in rows(page, "key") for name in ticked(row[0])}
    listed = {field.name for kind in lists.values() for field in fields(kind)}
    assert documented == keys | {"translations", *lists} | listed
    assert set(TRANSLATED) <= set(ticked(page))


# Links.


LINKED = PAGES | {
    page.relative_to(ROOT).as_posix(): page.read_text(encoding="utf-8")
    for folder in ("explanation", "how-to", "tutorials")
    for page in sorted((ROOT / "docs" / folder).glob("*.md"))
}
"""Pages of the folders as well; Sphinx follows the links of those that it makes itself."""


def links() -> list[tuple[str, str]]:
    return [
        (page, target)
        for page, text in LINKED.items()
        for target in re.findall(r"\]\(([^)\s]+)\)", re.sub(r"```.*?```", "", text, flags=re.S))
        if not re.match(r"[a-z]+:", target)
    ]


def anchors(text: str) -> set[str]:
    """What GitHub calls the headings of a page."""
    headings = re.findall(r"^#+ (.*)$", re.sub(r"```.*?```", "", text, flags=re.S), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize(("page", "target"), sorted(set(links())))
def test_a_link_leads_somewhere(page, target):
    file, _, anchor = target.partition("#")
    path = (ROOT / page).parent / file if file else ROOT / page
    assert path.exists()
    if anchor:
        assert anchor in anchors(path.read_text(encoding="utf-8"))


def test_the_index_links_every_page():
    named = {target for page, target in links() if page == "docs/index.md"}
    assert {page.name for page in DOCS} - {"index.md"} <= named


def test_the_picture_of_the_readme_is_light():
    pictures = [target for page, target in links() if page == "README.md" and "pictures" in target]
    assert pictures
    assert all((ROOT / picture).stat().st_size < 150_000 for picture in pictures)
