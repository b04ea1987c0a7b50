"""The reference of Python: a page for each group of public names, filled by Sphinx from docstrings.

What stands under a name is its signature and docstring, and the example of that name in
docs/reference/examples.md, which `tests/test_reference.py` runs.
"""

from __future__ import annotations

import ast
import re
from pathlib import Path

ROOT = Path(__file__).parents[1]

GROUPS = {
    "Judgements": ("Read a file or a data frame of judgements, and count them.", (
        "read_comparisons", "Comparisons", "Counts",
    )),
    "Maps and items": ("Areas, who borders whom, and the names of items.", (
        "Areas", "Graph", "ItemContext",
    )),
    "The model": ("Counts, priors and terms to a model.", (
        "BradleyTerry", "build_model", "paper_priors", "Anchors",
    )),
    "Priors of quality": ("What is believed of the items before the first answer.", (
        "Independent", "Network", "Distance", "Covariance", "Precision",
    )),
    "Priors of the threshold and the variance": ("One number each; all are frozen values.", (
        "HalfNormal", "HalfNormalSpread", "Gamma", "InverseGamma", "Exponential", "Uniform",
        "Fixed",
    )),
    "Terms": ("What a model may have beyond one quality per item and one threshold for all.", (
        "Covariates", "Order", "Groups", "Sharpness", "Thresholds",
    )),
    "Engines": ("How a posterior is computed; each is a value that carries its settings.", (
        "Transport", "Gibbs", "Metropolis", "CaronDoucet", "Laplace", "MaximumLikelihood",
    )),
    "Fitting": ("A model and an engine to a posterior, or the whole journey at once.", (
        "fit", "analyse", "write_results", "read_results", "Results", "Wording",
    )),
    "Tables": ("What a posterior says, as tables that a person can read.", (
        "summarise", "parameters", "preference", "tie_curve", "bands", "leaderboard",
        "anchor_table", "draws_table", "write_draws", "as_polars",
    )),
    "Scrutiny": ("Whether results can be believed.", (
        "verdict", "Verdict", "predictive_checks", "leave_one_out", "leave_one_judge_out",
        "with_log_likelihood", "compare", "compare_results", "compare_models", "judge_table",
        "item_fit", "assess_judges", "assess_robustness", "keep_robustness",
    )),
    "Reports": ("Pages for those who asked.", (
        "write_report", "rewrite_report", "write_briefing",
    )),
    "Simulation and planning": ("Made-up studies with a known truth.", (
        "Truth", "simulate_comparisons", "simulate_counts", "replicate_counts", "StudyDesign",
        "plan_study", "run_experiment",
    )),
    "Designs": ("Lists of pairs made before the first answer.", (
        "DesignWish", "design_study", "PairLists",
    )),
    "Studies and their site": ("The folder of a study, and the site where people judge.", (
        "study.create_study", "study.check_study", "study.Study", "study.ResearcherStore",
        "study.Phase", "study.TokenPurpose", "web.open_site", "web.serve", "demo.run_demo",
    )),
    "Errors": ("What goes wrong is said in one line, with the way out.", (
        "InputError", "InputWarning",
    )),
}  # fmt: skip
"""Every public name, by the page that it stands on; `test_reference.py` compares with the stubs."""


def public_names() -> set[str]:
    """The public names, as the stubs of `tiewise` and its public subpackages have them."""
    out = set()
    for prefix, folder in (("", "."), ("study.", "study"), ("web.", "web"), ("demo.", "demo")):
        stub = ROOT / "src" / "tiewise" / folder / "__init__.pyi"
        for node in ast.parse(stub.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ImportFrom):
                out |= {prefix + (one.asname or one.name) for one in node.names}
    return out - {"study", "web", "demo"}


def examples(docs: Path) -> dict[str, str]:
    """The doctest of each name, and under `setup` what all of them share."""
    text = (docs / "reference" / "examples.md").read_text(encoding="utf-8")
    pattern = r"^## ([\w.]+)\n+```pycon\n(.*?)```"
    return dict(re.findall(pattern, text, re.MULTILINE | re.DOTALL))


def reference_pages(docs: Path) -> dict[str, str]:
    """The pages, by the names of their files."""
    shown = examples(docs)
    pages = {
        f"{slug(title)}.md": _page(title, about, names, shown)
        for title, (about, names) in GROUPS.items()
    }
    return pages | {"index.md": _index(shown["setup"])}


def slug(title: str) -> str:
    """The name of a page's file."""
    return re.sub(r"\W+", "-", title.lower())


def _index(setup: str) -> str:
    rows = []
    for title, (about, names) in GROUPS.items():
        links = ", ".join(f"{{py:obj}}`{one} <tiewise.{one}>`" for one in names)
        rows += [f"**[{title}]({slug(title)}.md).** {about}", "", links, ""]
    lines = [
        "# Python", "",
        "Every public name, with its signature, what it promises, and an example that a test runs. "
        "`import tiewise as tw` is assumed throughout. Qualities, thresholds and cuts are in "
        "*logits*: a difference of 1 multiplies the odds of being chosen by e ≈ 2.7. Variances are "
        "in logits². Probabilities are between 0 and 1; times are in seconds.", "",
        *rows,
        "## What the examples share", "",
        "Each example begins after these lines:", "", "```pycon", setup.rstrip(), "```", "",
        "```{toctree}", ":hidden:", ":titlesonly:", "", *(slug(title) for title in GROUPS), "```",
        "",
    ]  # fmt: skip
    return "\n".join(lines)


def _page(title: str, about: str, names: tuple[str, ...], shown: dict[str, str]) -> str:
    lines = [f"# {title}", "", about, ""]
    for name in names:
        lines += [f"## {name}", "", "```{eval-rst}", *_directive(name), "```", ""]
        if name in shown:
            lines += ["Example ([what it begins with](index.md#what-the-examples-share)):", ""]
            lines += ["```pycon", shown[name].rstrip(), "```", ""]
    return "\n".join(lines)


def _directive(name: str) -> list[str]:
    kind = "autoclass" if name.rpartition(".")[2][0].isupper() else "autofunction"
    if name in ("InputError", "InputWarning"):
        kind = "autoexception"
    lines = [f".. {kind}:: tiewise.{name}"]
    return [*lines, "   :members:"] if kind == "autoclass" else lines
