"""Tiewise and other Python packages on the same studies: `python -m benchmarks.comparison`.

Writes the table of docs/comparison.md between its marks. Its environment is made by
`make comparison`; the versions of the packages stand above the table.
"""

from __future__ import annotations

import argparse
import os
import time
import warnings
from collections.abc import Callable, Iterator
from datetime import date
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import kendalltau

from benchmarks.markdown import grid
from benchmarks.published import PUBLISHED_S
from tiewise.experiments.designs import scaling_model
from tiewise.model.simulate import Truth, random_pairs, simulate_counts

Floats = NDArray[np.float64]
PAGE = Path(__file__).parents[1] / "docs" / "comparison.md"
BEGIN, END = "<!-- generated: comparison -->", "<!-- end -->"
PER_LOGIT = 400 / np.log(10)
NORMAL_975 = 1.959963984540054


class Votes(NamedTuple):
    """Answers one by one: items of each pair, and 0 first, 1 tie, 2 second."""

    first: NDArray[np.int64]
    second: NDArray[np.int64]
    answer: NDArray[np.int64]

    def decided(self) -> Votes:
        """The answers without ties."""
        return Votes(*(column[self.answer != 1] for column in self))


class Fitted(NamedTuple):
    """Qualities in logits, their ends where there are any, and the chance of each answer."""

    quality: Floats
    low: Floats | None = None
    high: Floats | None = None
    chances: Callable[[Votes], Floats] | None = None


class Case(NamedTuple):
    """A kind of study: its size, the threshold of ties, and whether it is the paper's."""

    name: str
    items: int
    answers: int
    tie: float
    is_papers: bool = False


class Study(NamedTuple):
    """One made-up study: the truth, its answers, further ones to predict; covariance if known."""

    truth: Floats
    votes: Votes
    new: Votes
    covariance: Floats | None


CASES = (
    Case("50 items, 1,000 answers, no ties", 50, 1000, 0.0),
    Case("50 items, 1,000 answers, a fifth of them ties", 50, 1000, 0.55),
    Case("50 items, 100 answers, a fifth of them ties", 50, 100, 0.55),
    Case("20 items, 20,000 answers, a fifth of them ties", 20, 20_000, 0.55),
    Case("64 wards of the paper’s scalability study", 64, 640, 0.5, is_papers=True),
    Case("128 wards of the paper’s scalability study", 128, 1280, 0.5, is_papers=True),
)


def study(case: Case, seed: int) -> Study:
    """True qualities, answers, and 5,000 further answers."""
    rng = np.random.default_rng([seed, case.items, case.answers])
    root = np.eye(case.items)
    if case.is_papers:  # a normalised Wishart, as in `tiewise.experiments.designs.scaling_study`
        root = rng.standard_normal((case.items, case.items))
        root /= np.linalg.norm(root, axis=1, keepdims=True)
    quality = root @ rng.normal(0, 1.0, case.items)
    truth = Truth(tuple(str(k) for k in range(case.items)), quality, case.tie, 1.0)
    both = []
    for number in (case.answers, 5000):
        first, second = random_pairs(case.items, number, rng)
        counts = simulate_counts(truth, number, rng, (first, second))
        both.append(_votes(counts))
    covariance = root @ root.T if case.is_papers else None
    return Study(quality - quality.mean(), both[0], both[1], covariance)


def _votes(counts: Any) -> Votes:
    columns = [
        (np.repeat(counts.first, n), np.repeat(counts.second, n), np.full(n.sum(), k))
        for k, n in enumerate((counts.wins_first, counts.ties, counts.wins_second))
    ]
    return Votes(*(np.concatenate(column) for column in zip(*columns, strict=True)))


# The packages.


def tiewise_fit(items: int, votes: Votes, covariance: Floats | None = None) -> Fitted:
    import tiewise as tw

    ones = [votes.answer == k for k in (0, 2, 1)]
    counts = tw.Counts.of(tuple(str(k) for k in range(items)), votes.first, votes.second, *ones)
    if covariance is not None:
        model = scaling_model(covariance, counts)
    else:
        model = tw.BradleyTerry(counts, **({} if ones[2].any() else {"tie": None}))
    tree = tw.fit(model, rng=1)
    draws = tree["posterior/quality"].to_numpy().reshape(-1, items)
    tie = tree["posterior/tie"].to_numpy().ravel()
    low, high = np.quantile(draws, (0.025, 0.975), axis=0)

    def chances(new: Votes) -> Floats:
        some = slice(None, None, max(len(draws) // 500, 1))
        gap = draws[some][:, new.first] - draws[some][:, new.second]
        one, two = (1 / (1 + np.exp(tie[some, None] + sign * gap)) for sign in (-1, 1))
        return np.stack([one, 1 - one - two, two]).mean(axis=1)

    return Fitted(draws.mean(axis=0), low, high, chances)


def _logistic(quality: Floats) -> Callable[[Votes], Floats]:
    """The chances of a model without ties."""

    def chances(new: Votes) -> Floats:
        one = 1 / (1 + np.exp(quality[new.second] - quality[new.first]))
        return np.stack([one, np.zeros_like(one), 1 - one])

    return chances


def _wins(votes: Votes) -> list[tuple[int, int]]:
    chosen = votes.decided()
    first = chosen.answer == 0
    winner = np.where(first, chosen.first, chosen.second)
    loser = np.where(first, chosen.second, chosen.first)
    return list(zip(winner.tolist(), loser.tolist(), strict=True))


def choix_ilsr(items: int, votes: Votes) -> Fitted:
    import choix

    quality = choix.ilsr_pairwise(items, _wins(votes), alpha=0.01)
    return Fitted(quality - quality.mean(), chances=_logistic(quality))


def choix_ep(items: int, votes: Votes) -> Fitted:
    import choix

    mean, covariance = choix.ep_pairwise(items, _wins(votes), alpha=1.0, model="logit")
    centre = np.eye(items) - 1 / items
    sd = np.sqrt(np.diag(centre @ covariance @ centre))
    mean = mean - mean.mean()
    return Fitted(mean, mean - NORMAL_975 * sd, mean + NORMAL_975 * sd, _logistic(mean))


def _evalica_columns(votes: Votes) -> tuple[list[int], list[int], list[Any]]:
    from evalica import Winner

    words = np.array([Winner.X, Winner.Draw, Winner.Y], dtype=object)
    return votes.first.tolist(), votes.second.tolist(), words[votes.answer].tolist()


def _evalica_quality(items: int, scores: Any) -> Floats:
    quality = np.log(scores.reindex(range(items)).fillna(scores.median()).clip(1e-9).to_numpy())
    return np.asarray(quality - quality.mean())


def evalica_bradley_terry(items: int, votes: Votes) -> Fitted:
    import evalica

    quality = _evalica_quality(items, evalica.bradley_terry(*_evalica_columns(votes)).scores)
    return Fitted(quality, chances=_logistic(quality))


def evalica_newman(items: int, votes: Votes) -> Fitted:
    import evalica

    result = evalica.newman(*_evalica_columns(votes))
    quality, tie = _evalica_quality(items, result.scores), result.v

    def chances(new: Votes) -> Floats:
        half = (quality[new.first] - quality[new.second]) / 2
        weights = np.stack([np.exp(half), np.full_like(half, 2 * tie), np.exp(-half)])
        return np.asarray(weights / weights.sum(axis=0))

    return Fitted(quality, chances=chances if (votes.answer == 1).any() else _logistic(quality))


def arena_rank(items: int, votes: Votes) -> Fitted:
    import pandas as pd
    from arena_rank.models.bradley_terry import BradleyTerry
    from arena_rank.utils.data_utils import PairDataset

    words = np.array(["model_a", "tie", "model_b"])[votes.answer]
    table = pd.DataFrame({"model_a": votes.first, "model_b": votes.second, "winner": words})
    data = PairDataset.from_pandas(table)
    rated = BradleyTerry(n_competitors=len(data.competitors)).compute_ratings_and_cis(data)
    order = np.asarray([int(name) for name in rated["competitors"]])
    out = [np.zeros(items) for _ in range(3)]
    names = ("ratings", "rating_lower", "rating_upper")
    for column, name in zip(out, names, strict=True):
        column[order] = np.asarray(rated[name]) / PER_LOGIT
    level = out[0][order].mean()
    quality, low, high = (column - level for column in out)
    return Fitted(quality, low, high, _logistic(quality))


def scikit_learn(items: int, votes: Votes) -> Fitted:
    from sklearn.linear_model import LogisticRegression

    chosen = votes.decided()
    row = np.arange(len(chosen.first))
    design = np.zeros((len(row), items))
    design[row, chosen.first], design[row, chosen.second] = 1, -1
    model = LogisticRegression(fit_intercept=False, C=1.0).fit(design, chosen.answer == 0)
    quality = model.coef_[0]
    return Fitted(quality - quality.mean(), chances=_logistic(quality))


SLOW = {"choix, EP"}
"""Packages that take minutes for more than two thousand answers, and are left out there."""
PACKAGES = {
    "Tiewise": tiewise_fit, "choix, ILSR": choix_ilsr, "choix, EP": choix_ep,
    "evalica, Bradley–Terry": evalica_bradley_terry, "evalica, Newman": evalica_newman,
    "arena-rank": arena_rank, "scikit-learn, logistic": scikit_learn,
}  # fmt: skip


# Figures.


def scores(fitted: Fitted, truth: Floats, new: Votes, tie: float) -> dict[str, float]:
    """How near the truth, how often intervals hold it, and log scores of new answers."""
    assert fitted.chances is not None
    chances = np.maximum(fitted.chances(new), 1e-12)
    chosen = new.answer != 1
    decided = chances[:, chosen] / (chances[0, chosen] + chances[2, chosen])
    out = {
        # Where all items are rated alike there is no ranking, and no statistic.
        "rank": float(np.nan_to_num(kendalltau(fitted.quality, truth).statistic)),
        "decided": float(np.log(decided[new.answer[chosen], np.arange(chosen.sum())]).mean()),
    }
    if tie == 0:
        out["error"] = float(np.sqrt(np.mean((fitted.quality - truth) ** 2)))
        if fitted.low is not None and fitted.high is not None:
            out["held"] = float(np.mean((fitted.low < truth) & (truth < fitted.high)))
    if chances[1].max() > 1e-9:
        out["all"] = float(np.log(chances[new.answer, np.arange(len(new.answer))]).mean())
    return out


def measure(case: Case, studies: int) -> Iterator[list[str]]:
    """A row of the table for each package; each study is fitted twice, and the second is timed.

    What is compiled for the shapes of a study is then there.
    """
    for name, package in PACKAGES.items():
        if name in SLOW and case.answers > 2000:
            continue
        rows, wall, processor = [], [], []
        for seed in range(1, studies + 1):
            made = study(case, seed)
            fit = partial(package, case.items, made.votes)
            if package is tiewise_fit:
                fit = partial(fit, covariance=made.covariance)
            fit()
            start, used = time.perf_counter(), time.process_time()
            fitted = fit()
            wall.append(time.perf_counter() - start)
            processor.append(time.process_time() - used)
            rows.append(scores(fitted, made.truth, made.new, case.tie))
        print(case.name, name, f"{np.median(wall):.2g} s", flush=True)
        yield [name, *(f"{np.median(s):.2g}" for s in (wall, processor)), *_cells(rows, case.tie)]
    if case.is_papers:
        published = f"{PUBLISHED_S[f'synthetic-{case.items}']:.0f}, as published"
        yield ["speedyBBT, 5,000 iterations", published, *"––––"]


def _cells(rows: list[dict[str, float]], tie: float) -> list[str]:
    columns = ("rank", "decided", "error", "held") if tie == 0 else ("rank", "decided", "all")
    out = []
    for column in columns:
        known = [row[column] for row in rows if column in row]
        if not known:
            out.append("–")
            continue
        error = np.std(known, ddof=1) / np.sqrt(len(known))
        if column == "held":
            out.append(f"{100 * np.mean(known):.0f} % ± {100 * error:.0f}")
        else:
            out.append(f"{np.mean(known):.3f} ± {error:.3f}")
    return out


def report(studies: int) -> str:
    """The generated part of the page."""
    names = ("choix", "evalica", "arena-rank", "scikit-learn", "numpy")
    known = ", ".join(f"{name} {version(name)}" for name in names)
    parts = [
        f"Measured on {date.today():%-d %B %Y} by `make comparison` on {os.cpu_count()} cores that "
        f"did other work, too, so seconds are rough; those of the processor are less so: {known}. "
        f"Medians of seconds and means of figures over {studies} made-up studies of each kind, ± "
        "Monte Carlo standard errors.\n"
    ]
    for case in CASES:
        head = [
            "package",
            "seconds",
            "processor seconds",
            "Kendall’s τ with the truth",
            "log score, choices",
        ]
        head += ["error (logits)", "95 % intervals that hold"] if case.tie == 0 else []
        head += ["log score, all three answers"] if case.tie else []
        parts.append(f"**{case.name}**\n\n{grid(head, measure(case, studies))}")
    return "\n".join(parts)


def main() -> None:
    """Measure, and write the table into the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--studies", type=int, default=20)
    warnings.simplefilter("ignore")
    text = report(parser.parse_args().studies)
    page = PAGE.read_text(encoding="utf-8")
    start, stop = page.index(BEGIN) + len(BEGIN), page.index(END)
    PAGE.write_text(f"{page[:start]}\n\n{text}\n{page[stop:]}", encoding="utf-8")


if __name__ == "__main__":
    main()
