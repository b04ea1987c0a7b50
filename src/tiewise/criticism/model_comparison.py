"""Models of the same judgements compared by how well they predict what they have not seen.

Answers of one judge resemble each other, so that differences are no more certain than as many
independent judges make them: where judges are known, standard errors are clustered by judge.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from inspect import signature
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from xarray import DataArray, DataTree

from tiewise.criticism.leave_one_judge_out import JudgeScores, leave_one_judge_out
from tiewise.criticism.leave_one_out import data_digest, elpd_data, leave_one_out, scores_by_judge
from tiewise.data.files import write_csv
from tiewise.errors import InputError
from tiewise.model.bradley_terry import BradleyTerry
from tiewise.posterior.fit import TRUSTED_K
from tiewise.progress import Progress, no_progress
from tiewise.randomness import RNGLike
from tiewise.text import one_line

if TYPE_CHECKING:
    from arviz_stats.utils import ELPDData

    from tiewise.posterior.results_folder import Results

Floats = NDArray[np.float64]
LeftOut = Literal["judgement", "judge"]

MIN_STANDARD_ERRORS, MIN_DIFFERENCE = 2.0, 4.0
"""Differences, in standard errors and in log score, below which no model is called better."""
ENOUGH_JUDGEMENTS, ENOUGH_JUDGES = 100, 10
"""Fewer than these, and standard errors are rough."""
ONE_JUDGE = 0.5
"""Share of a difference from which on it is said that one judge makes it."""


class ModelComparison(NamedTuple):
    """Models from the best to the worst, and sentences about the differences.

    `by_judge` has the score of each judge (rows) under each model (columns), where it is known who
    judged; standard errors are clustered by judge then.
    """

    table: pd.DataFrame
    sentences: tuple[str, ...]
    by_judge: pd.DataFrame | None = None

    def write(self, path: Path) -> None:
        """Write the table as CSV."""
        try:
            write_csv(self.table, path)
        except OSError as error:
            raise InputError(f"{path} cannot be written ({error.strerror}); name another") from None


def clustered_error(totals: ArrayLike) -> float:
    """Standard error of a sum over clusters (judges), from the sum of each of them."""
    each = np.asarray(totals, np.float64)
    number = len(each)
    if number < 2:
        return float("nan")
    return float(np.sqrt(number / (number - 1) * ((each - each.mean()) ** 2).sum()))


def compare(
    models: Mapping[str, DataTree],
    *,
    leave_out: LeftOut = "judgement",
    built: Mapping[str, BradleyTerry] | None = None,
    rng: RNGLike = 1,
    progress: Progress = no_progress,
) -> ModelComparison:
    """Models of the same judgements by how well they predict one they have not seen.

    The table has, best first: log score (`elpd`) and its standard error, the difference from the
    best and its standard error (clustered by judge where judges are known; `naive_se` takes all
    judgements for independent), effective parameters, the weight in a mixture (stacking), and the
    share of judgements or judges whose k-hat is too high. With `leave_out="judge"` all answers of
    a judge are left out and predicted together; `built` are then the models, to be fitted again
    where weights do not do, else they are built again from the results.
    """
    if len(models) < 2:
        raise InputError("a comparison needs two results folders or more; name another")
    _refuse_other_data(models)
    scores = {
        name: model_scores(
            tree, (built or {}).get(name), leave_out=leave_out, rng=rng, progress=progress
        )
        for name, tree in models.items()
    }
    return compare_scores(scores)


class ModelScores(NamedTuple):
    """The scores of one model: of each judgement or judge, as ArviZ has them, and by judge.

    `by_judge` is None where it is not known who judged. `refitted` and `rough` count judges that
    were left out by a new fit, and those whose weights cannot be trusted.
    """

    elpd: ELPDData
    by_judge: Mapping[str, float] | None
    refitted: int = 0
    rough: int = 0


def model_scores(
    tree: DataTree,
    model: BradleyTerry | None = None,
    *,
    leave_out: LeftOut = "judgement",
    rng: RNGLike = 1,
    progress: Progress = no_progress,
) -> ModelScores:
    """What a fit says of the judgements, or judges, that were left out of it."""
    if leave_out == "judgement":
        elpd = leave_one_out(tree)
        return ModelScores(elpd, scores_by_judge(tree, elpd))
    scores = leave_one_judge_out(tree, model, rng=rng, progress=progress)
    if len(scores.judges) < 2:
        raise InputError("there is but one judge, and nobody is left without them; give more")
    by_judge = dict(zip(scores.judges, scores.score.tolist(), strict=True))
    return ModelScores(_elpd(scores), by_judge, int(scores.refitted.sum()), int(scores.rough.sum()))


def _elpd(scores: JudgeScores) -> ELPDData:
    """Scores of judges as ArviZ has scores, with a k-hat of 0 where the model was fitted again."""
    k_hat = np.where(scores.refitted, 0.0, scores.k_hat)
    return elpd_data(
        DataArray(scores.score, dims="judge"), pareto_k=DataArray(k_hat, dims="judge"),
        se=clustered_error(scores.score), p=float((scores.in_sample - scores.score).sum()),
        n_samples=0, warning=bool(scores.rough.any()), good_k=TRUSTED_K,
    )  # fmt: skip


def compare_scores(scores: Mapping[str, ModelScores]) -> ModelComparison:
    """The comparison of models by their scores."""
    from arviz_stats import compare as arviz_compare

    # Newer versions of ArviZ round what they hand back, if they are not told otherwise.
    exact = {"round_to": "none"} if "round_to" in signature(arviz_compare).parameters else {}
    ranking = arviz_compare({name: one.elpd for name, one in scores.items()}, **exact)
    names, naive = [str(name) for name in ranking.index], ranking["dse"].to_numpy()
    table = pd.DataFrame(
        {
            "model": names,
            "elpd": ranking["elpd"].to_numpy(), "se": ranking["se"].to_numpy(),
            # Minus what each is behind the best, whichever sign ArviZ gives it.
            "difference": -np.abs(ranking["elpd_diff"].to_numpy()),
            "difference_se": naive, "naive_se": naive,
            "parameters": ranking["p"].to_numpy(), "weight": ranking["weight"].to_numpy(),
            "poor_k": [_poor(scores[name].elpd) for name in names],
        }
    )  # fmt: skip
    by_judge = _by_judge(scores)
    if by_judge is not None:
        best = by_judge[names[0]]
        table["se"] = [clustered_error(by_judge[name]) for name in names]
        table["difference_se"] = [clustered_error(by_judge[name] - best) for name in names]
    return ModelComparison(table, tuple(_sentences(table, by_judge, scores)), by_judge)


def _poor(elpd: ELPDData) -> float:
    """The share of k-hats that are too high."""
    return float((elpd.pareto_k.to_numpy() > elpd.good_k).mean())


def _by_judge(scores: Mapping[str, ModelScores]) -> pd.DataFrame | None:
    """Scores of judges under each model; None where they are not known, or are not the same."""
    each = {name: one.by_judge for name, one in scores.items() if one.by_judge is not None}
    judges = [totals.keys() for totals in each.values()]
    if len(each) < len(scores) or any(keys != judges[0] for keys in judges) or len(judges[0]) < 2:
        return None
    return pd.DataFrame(each)


def _refuse_other_data(models: Mapping[str, DataTree]) -> None:
    digests = {name: data_digest(tree) for name, tree in models.items()}
    first = next(iter(digests))
    for name, digest in digests.items():
        if digest != digests[first]:
            raise InputError(
                f"{first} and {name} are fits of different judgements, and scores of different "
                "judgements cannot be compared; fit both models to the same file"
            )


# In words.


def _sentences(
    table: pd.DataFrame, by_judge: pd.DataFrame | None, scores: Mapping[str, ModelScores]
) -> Iterator[str]:
    best = table["model"].iloc[0]
    judges = 0 if by_judge is None else len(by_judge)
    for _, row in table.iloc[1:].iterrows():
        yield _difference_sentence(best, row, judges)
        if by_judge is not None and -row["difference"] >= MIN_DIFFERENCE:
            yield from _one_judge(by_judge[best] - by_judge[row["model"]])
    for name in table["model"]:
        yield from _roughness(name, scores[name])
    elpd = scores[best].elpd
    if elpd.elpd_i.dims[0] == "judgement" and elpd.n_data_points < ENOUGH_JUDGEMENTS:
        yield (
            f"{elpd.n_data_points} judgements are few: standard errors of differences are rough "
            "below 100."
        )
    if 0 < judges < ENOUGH_JUDGES:
        yield f"{judges} judges are few: standard errors of differences are rough below 10."


def _roughness(name: str, scores: ModelScores) -> Iterator[str]:
    """Where weights did not do, and what was done about it."""
    size, judges = scores.elpd.n_data_points, len(scores.by_judge or ())
    if scores.elpd.elpd_i.dims[0] == "judgement" and _poor(scores.elpd) > 0:
        number = max(round(_poor(scores.elpd) * size), 1)
        yield (
            f"For {number:,} of {size:,} judgements {name} leans on the judgement itself too much "
            "for weights (k-hat too high): its score is rough."
        )
    if scores.refitted:
        yield f"{name} was fitted again without each of {scores.refitted} of {judges} judges."
    if scores.rough:
        yield (
            f"For {scores.rough} of {judges} judges the score of {name} is rough: weights do not "
            "do (k-hat too high), and the results do not hold what it takes to fit again."
        )


def _difference_sentence(best: str, row: pd.Series, judges: int) -> str:
    behind, error = -float(row["difference"]), float(row["difference_se"])
    over = f" over {judges} judges" if judges else ""
    difference = f"by {behind:.1f} in log score, with a standard error of {error:.1f}{over}"
    if behind < MIN_DIFFERENCE:
        return f"{best} and {row['model']} predict about equally well: they differ {difference}."
    if behind < MIN_STANDARD_ERRORS * error:
        return f"{best} predicts better than {row['model']} {difference}: too little to be sure."
    return f"{best} predicts better than {row['model']}, and clearly so: {difference}."


def _one_judge(difference: pd.Series) -> Iterator[str]:
    """Which judge makes most of a difference, if one does."""
    total, most = float(difference.sum()), float(difference.max())
    if most > ONE_JUDGE * total:
        name = one_line(str(difference.idxmax()), 40)
        yield f"Of these {total:.1f}, {most:.1f} are of one judge, {name}."


def compare_results(
    results: Sequence[Results],
    *,
    leave_out: LeftOut = "judgement",
    rng: RNGLike = 1,
    progress: Progress = no_progress,
) -> ModelComparison:
    """Results folders side by side: the twin of `tiewise compare`."""
    names = _names([one.folder for one in results])
    trees = {name: one.tree for name, one in zip(names, results, strict=True)}
    return compare(trees, leave_out=leave_out, rng=rng, progress=progress)


def _names(folders: Sequence[Path]) -> list[str]:
    """What folders are called: their own names, or whole paths where those are not distinct."""
    names = [folder.resolve().name for folder in folders]
    if len(set(names)) == len(names):
        return names
    paths = [str(folder) for folder in folders]
    if len(set(paths)) < len(paths):
        raise InputError("the same results folder is named twice; name two that differ")
    return paths
