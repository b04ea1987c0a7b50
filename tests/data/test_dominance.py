"""An item that always wins comes first, whatever the file says it with and whoever computes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest

from support.everyday import everyday
from support.reference_formulas import repeated
from tiewise.data.comparisons import Comparisons, read_comparisons
from tiewise.data.counts import Counts
from tiewise.data.layout import known_formats
from tiewise.engines import ENGINES, engine_class
from tiewise.errors import InputError
from tiewise.model.bradley_terry import BradleyTerry
from tiewise.posterior.fit import fit
from tiewise.posterior.summaries import preference, summarise

# Ids whose order is not the order of quality, in any sorting; 9 beats all, 30 loses to all.
ITEMS = ("30", "9", "100", "2", "11")
ANSWERS = repeated(
    (1, 0, 5, 0, 0), (1, 2, 5, 0, 0), (3, 1, 0, 0, 5), (4, 1, 0, 0, 5),
    (0, 2, 0, 0, 4), (3, 0, 4, 0, 0), (0, 4, 0, 0, 4),
    (2, 3, 2, 2, 2), (3, 4, 2, 1, 1), (4, 2, 1, 1, 2),
)  # fmt: skip
ROWS = [(ITEMS[one], ITEMS[two], answer) for one, two, answer in ANSWERS]
CHOSEN = [{"first": one, "second": two}.get(answer) for one, two, answer in ROWS]
LOST = [{"first": two, "second": one}.get(answer) for one, two, answer in ROWS]


def interface() -> pd.DataFrame:
    return pd.DataFrame(
        {
            "comparison_id": range(len(ROWS)),
            "user_id": 7,
            "item_1_id": [one for one, _, _ in ROWS],
            "item_2_id": [two for _, two, _ in ROWS],
            "selected_item_id": CHOSEN,
            "state": ["tied" if chosen is None else "selected" for chosen in CHOSEN],
        }
    )


def research() -> pd.DataFrame:
    """No ties in such files: half of the tied pairs go one way, half the other."""
    winner, loser = winners()
    return pd.DataFrame(
        {"": range(len(ROWS)), "Judge": "x", "Candidate.Chosen": winner,
         "Candidate Not_chosen": loser, "minutes": 3}
    )  # fmt: skip


def winners() -> tuple[list[str], list[str]]:
    pairs = [
        (ROWS[k][:2] if k % 2 else ROWS[k][1::-1]) if chosen is None else (chosen, LOST[k])
        for k, chosen in enumerate(CHOSEN)
    ]
    return [winner for winner, _ in pairs], [loser for _, loser in pairs]


def winner_and_loser() -> pd.DataFrame:
    winner, loser = winners()
    tied = [chosen is None for chosen in CHOSEN]
    return pd.DataFrame({"winner": winner, "loser": loser, "tie": tied})


def pair_and_winner() -> pd.DataFrame:
    tied = [chosen is None for chosen in CHOSEN]
    return pd.DataFrame(
        {"choice_id1": [one for one, _, _ in ROWS], "choice_id2": [two for _, two, _ in ROWS],
         "winner_id": CHOSEN, "is_tie": tied}
    )  # fmt: skip


def arena() -> pd.DataFrame:
    vote = {"first": "model_a", "second": "model_b", "tie": "tie"}
    return pd.DataFrame(
        {"model_a": [one for one, _, _ in ROWS], "model_b": [two for _, two, _ in ROWS],
         "winner": [vote[answer] for *_, answer in ROWS]}
    )  # fmt: skip


def counted() -> pd.DataFrame:
    answers = [answer for *_, answer in ROWS]
    return pd.DataFrame(
        {"item_1": [one for one, _, _ in ROWS], "item_2": [two for _, two, _ in ROWS],
         "wins_1": [int(answer == "first") for answer in answers],
         "wins_2": [int(answer == "second") for answer in answers],
         "ties": [int(answer == "tie") for answer in answers]}
    )  # fmt: skip


def our_own() -> pd.DataFrame:
    columns = ["first", "second", "outcome"]
    return pd.DataFrame(ROWS, columns=columns)


def columns_of_their_own() -> pd.DataFrame:
    even = [None if chosen is not None else "yes" for chosen in CHOSEN]
    return pd.DataFrame(
        {"links": [one for one, _, _ in ROWS], "rechts": [two for _, two, _ in ROWS],
         "besser": CHOSEN, "gleich": even}
    )  # fmt: skip


NAMED = {"first": "links", "second": "rechts", "chosen": "besser", "tie": "gleich"}
FILES: dict[str, tuple[Callable[[], pd.DataFrame], dict[str, str]]] = {
    "comparison interface": (interface, {}),
    "comparative judgement": (research, {}),
    "winner and loser": (winner_and_loser, {}),
    "pair and winner": (pair_and_winner, {}),
    "arena votes": (arena, {}),
    "counts": (counted, {}),
    "tiewise rows": (our_own, {}),
    "named columns": (columns_of_their_own, NAMED),
}


def read(kind: str, folder: Path) -> Comparisons:
    """The study as a file of this kind, read back."""
    make, named = FILES[kind]
    path = folder / "study.csv"
    make().to_csv(path, index=False)
    return read_comparisons(path, **named)


def test_no_format_is_left_out():
    assert {*FILES} == {kind.name for kind in known_formats()} | {"named columns"}


SAMPLERS = [name for name in ENGINES if name != "maximum-likelihood"]


@pytest.mark.parametrize(
    ("engine", "kind"),
    everyday(
        [(engine, kind) for engine in SAMPLERS for kind in FILES],
        *[("laplace", kind) for kind in FILES],
        ("transport", "tiewise rows"),
    ),
)
def test_the_item_that_always_wins_comes_first_in_every_format_and_engine(kind, engine, tmp_path):
    comes_first(read(kind, tmp_path).counts(), engine)


def comes_first(counts: Counts, engine: str) -> None:
    quick = {"thin": 5} if engine == "metropolis" else {}
    tree = fit(BradleyTerry(counts), engine_class(engine)(draws=400, **quick), rng=2)
    table = summarise(tree, top=1)
    assert list(table["item"].iloc[[0, -1]]) == ["9", "30"]
    assert table["rank"].iloc[0] == 1
    assert table["top_k_probability"].iloc[0] == table["top_k_probability"].max()
    assert preference(tree, "9", "30").first > preference(tree, "9", "30").second


@pytest.mark.parametrize("kind", FILES)
def test_maximum_likelihood_refuses_it_by_name(kind, tmp_path):
    model = BradleyTerry(read(kind, tmp_path).counts())
    with pytest.raises(InputError, match="'9' always won.*'30' always lost"):
        fit(model, engine_class("maximum-likelihood")(), rng=2)


@pytest.mark.parametrize("kind", [kind for kind in FILES if kind != "comparative judgement"])
def test_every_format_counts_the_same(kind, tmp_path):
    """Against rows counted by hand, in whatever order the items come out."""
    counts = read(kind, tmp_path).counts()
    wins = {(one, two): 0 for one in ITEMS for two in ITEMS}
    ties = dict(wins)
    for one, two, answer in ROWS:
        if answer == "tie":
            ties[one, two] += 1
            ties[two, one] += 1
        else:
            wins[(one, two) if answer == "first" else (two, one)] += 1
    assert counts.items == ("2", "9", "11", "30", "100")
    assert table_of(counts) == {
        pair: (wins[pair], wins[pair[::-1]], ties[pair]) for pair in table_of(counts)
    }
    assert counts.comparisons == len(ROWS)


def table_of(counts: Counts) -> dict[tuple[str, str], tuple[int, int, int]]:
    rows = zip(
        counts.first, counts.second, counts.wins_first, counts.wins_second, counts.ties, strict=True
    )
    return {(counts.items[i], counts.items[j]): (int(w), int(v), int(t)) for i, j, w, v, t in rows}
