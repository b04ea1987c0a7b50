"""Optimal designs: against brute force, and against posterior covariances written out."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest

from support.everyday import everyday
from tiewise.designs.balanced import balanced_draft
from tiewise.designs.design import make_design
from tiewise.designs.draft import DraftLists
from tiewise.designs.prior import DesignPrior
from tiewise.designs.search import optimal
from tiewise.designs.search.optimal import optimal_draft
from tiewise.designs.search.posterior_variance import PosteriorVariance, expected_variance
from tiewise.designs.wish import DesignWish
from tiewise.geo.graph import Graph
from tiewise.model.anchors.anchors import Anchors
from tiewise.model.likelihood import answer_probabilities
from tiewise.model.map_priors import Network
from tiewise.model.quality_priors import Independent

PATH = Graph.from_edges([(str(k), str(k + 1)) for k in range(7)])
"""Eight items in a row."""


def path_prior(tie: float = 0.5, share: float | None = None) -> DesignPrior:
    return DesignPrior.of(Network(PATH, share=share), PATH.items, spread=2.0, cuts=np.array([tie]))


def anchored_prior() -> DesignPrior:
    anchors = Anchors(("0", "7"), (-2.0, 2.5), (0.1, 0.2))
    items = PATH.items
    return DesignPrior.of(
        Independent(items), items, spread=1.5, cuts=np.array([0.5]), anchors=anchors
    )


def variance_by_inverse(prior: DesignPrior, pairs, slopes) -> float:
    """tr(T (Σ⁻¹ + Σ w e eᵀ)⁻¹ Tᵀ), nothing clever."""
    information = prior.information()
    precision = np.linalg.inv(prior.covariance)
    for i, j in pairs:
        e = np.zeros(len(prior.mean))
        e[i], e[j] = 1, -1
        precision += information[i, j] * np.outer(e, e)
    return float(np.trace(slopes @ np.linalg.inv(precision) @ slopes.T))


def connected(size: int, pairs) -> bool:
    parts = [{k} for k in range(size)]
    for i, j in pairs:
        joined = [part for part in parts if part & {i, j}]
        parts = [part for part in parts if not part & {i, j}] + [set().union(*joined)]
    return len(parts) == 1


def best_by_brute_force(prior: DesignPrior, number: int, target: str, top: int) -> float:
    """The least variance of all connected designs of so many different pairs."""
    size = len(prior.mean)
    pairs = list(combinations(range(size), 2))
    first, second = np.array(pairs).T
    informed = prior.information()[first, second]
    slopes = prior.target(target, top)
    turned = prior.covariance @ (slopes.T @ slopes) @ prior.covariance
    differences = np.eye(size)[first] - np.eye(size)[second]
    within = differences @ prior.covariance @ differences.T
    crossed = differences @ turned @ differences.T
    before = float(np.trace(slopes @ prior.covariance @ slopes.T))
    best = np.inf
    every = combinations(range(len(pairs)), number)
    while chunk := [c for _, c in zip(range(50_000), every, strict=False)]:
        chosen = np.array(chunk)
        rows, columns = chosen[:, :, None], chosen[:, None, :]
        # The matrix inversion lemma: the loss of variance is tr((W⁻¹ + EᵀΣE)⁻¹ EᵀΣMΣE).
        inner = within[rows, columns].copy()
        inner[:, range(number), range(number)] += 1 / informed[chosen]
        loss = np.einsum("nij,nji->n", np.linalg.inv(inner), crossed[rows, columns])
        for k in np.argsort(-loss)[:2000]:
            if before - loss[k] >= best:
                break
            if connected(size, [pairs[p] for p in chosen[k]]):
                best = float(before - loss[k])
                break
    return best


CASES = [
    (path_prior(), "differences", 3), (path_prior(), "ranks", 3),
    (anchored_prior(), "differences", 3), (anchored_prior(), "top", 2),
]  # fmt: skip


def optimum(prior: DesignPrior, number: int, target: str, top: int, seed: int = 1) -> float:
    wish = DesignWish(
        items=PATH.items, judges=("A",), per_judge=number, policy="optimal", target=target, top=top
    )
    draft, interrupted = optimal_draft(wish, prior, np.random.default_rng(seed))
    assert not interrupted
    _, first, second = draft.columns()
    assert len({frozenset(pair) for pair in zip(first, second, strict=True)}) == number
    slopes = prior.target(target, top)
    return variance_by_inverse(prior, zip(first, second, strict=True), slopes)


@pytest.mark.slow
@pytest.mark.parametrize(("prior", "target", "top"), CASES)
def test_on_eight_items_the_optimum_equals_brute_force(prior, target, top):
    """Of all 1,184,040 sets of 7 pairs; 7 are the fewest that connect eight items."""
    best = best_by_brute_force(prior, 7, target, top)
    assert optimum(prior, 7, target, top) == pytest.approx(best, rel=1e-9)


@pytest.mark.slow
def test_on_eight_items_all_pairs_but_two_are_chosen_as_brute_force_does():
    """Of all 378 sets of 26 pairs."""
    best = best_by_brute_force(path_prior(), 26, "differences", 3)
    assert optimum(path_prior(), 26, "differences", 3) == pytest.approx(best, rel=1e-9)


@pytest.mark.parametrize("target", ["differences", "ranks", "top"])
def test_the_variance_kept_up_to_date_is_that_of_the_inverse(target):
    prior = path_prior()
    pairs = [(0, 3), (1, 6), (0, 3), (5, 7), (2, 3), (4, 6), (1, 6)]
    first, second = np.array(pairs).T
    slopes = prior.target(target, 3)
    by_inverse = variance_by_inverse(prior, pairs, slopes)
    assert expected_variance(prior, first, second, target=target, top=3) == pytest.approx(
        by_inverse
    )
    kept = PosteriorVariance(prior, target, 3)
    assert kept.value == pytest.approx(1.0)
    kept.add(first[:3], second[:3])
    gain = kept.gains(first[3:4], second[3:4])[0]
    assert kept.all_gains()[first[3], second[3]] == pytest.approx(gain)
    before = kept.value
    kept.add(first[3:4], second[3:4])
    assert before - kept.value == pytest.approx(gain)
    assert kept.losses(first[3:4], second[3:4])[0] == pytest.approx(gain)
    kept.add(first[4:], second[4:])
    assert kept.value == pytest.approx(by_inverse)
    kept.add(first, second, -1)
    assert kept.value == pytest.approx(1.0)
    assert kept.covariance == pytest.approx(prior.covariance)


@pytest.mark.parametrize("tie", [0.0, 0.5, 2.0])
@pytest.mark.parametrize("prior", [path_prior, anchored_prior])
def test_information_is_averaged_over_qualities(prior, tie):
    """Against Σ P′²/P by differences at random qualities, within its Monte Carlo error."""
    known = DesignPrior(prior().mean, prior().covariance, np.array([tie]))
    rng = np.random.default_rng(3)
    quality = rng.multivariate_normal(known.mean, known.covariance, 20_000)
    information, h = known.information(), 1e-4
    for i, j in ((0, 1), (0, 7), (3, 5)):
        gap = quality[:, i] - quality[:, j]
        informed = np.zeros(len(gap))
        for at, up, down in zip(
            *(answer_probabilities(gap + step, np.asarray(tie)) for step in (0, h, -h)),
            strict=True,
        ):
            informed += ((up - down) / (2 * h)) ** 2 / np.where(at > 0, at, np.inf)
        error = informed.std() / np.sqrt(len(informed))
        assert abs(information[i, j] - informed.mean()) < 4.5 * error


@pytest.mark.parametrize("cuts", [(0.0, 1.2), (0.5, 1.5), (0.3, 1.0, 2.2)])
def test_information_of_graded_answers_is_averaged_over_qualities(cuts):
    """Σ P′²/P over cumulative logits written out, P′ by differences, at random qualities."""
    known = DesignPrior(path_prior().mean, path_prior().covariance, np.array(cuts))
    quality = np.random.default_rng(4).multivariate_normal(known.mean, known.covariance, 20_000)
    ends = np.unique([0.0 - np.array(cuts), np.array(cuts)])
    information, h = known.information(), 1e-4

    def answers(gap):
        above = 1 / (1 + np.exp(ends[:, None] - gap))
        whole = np.ones((1, len(gap)))
        return -np.diff(np.concatenate([whole, above, 0 * whole]), axis=0)

    for i, j in ((0, 1), (0, 7)):
        gap = quality[:, i] - quality[:, j]
        slope = (answers(gap + h) - answers(gap - h)) / (2 * h)
        informed = np.sum(slope**2 / answers(gap), axis=0)
        error = informed.std() / np.sqrt(len(informed))
        assert abs(information[i, j] - informed.mean()) < 4.5 * error


def test_anchors_move_the_prior_as_conditioning_does():
    """Against a normal vector of qualities and noisy values, conditioned at once on differences."""
    prior = anchored_prior()
    size = len(prior.mean)
    joint = 1.5 * np.eye(size)
    difference = np.zeros(size)
    difference[7], difference[0] = 1, -1
    variance = difference @ joint @ difference + 0.1**2 + 0.2**2
    gain = joint @ difference / variance
    assert prior.mean == pytest.approx(gain * 4.5)
    assert prior.covariance == pytest.approx(joint - np.outer(gain, difference @ joint))


def test_optimal_is_never_worse_than_balanced():
    for seed in range(3):
        out = {}
        for policy in ("balanced", "optimal"):
            wish = DesignWish(items=PATH.items, judges=("A", "B", "C"), per_judge=9, policy=policy)
            lists = make_design(wish, path_prior(), rng=seed).lists
            place = {item: k for k, item in enumerate(PATH.items)}
            first, second = np.array([(place[p.left], place[p.right]) for p in lists.pairs]).T
            out[policy] = expected_variance(path_prior(), first, second)
        assert out["optimal"] <= out["balanced"] * (1 + 1e-9)


def test_pairs_that_are_added_many_at_a_time_are_a_design_too(monkeypatch):
    """As above 600 items: what is kept up to date is what pairs leave, and balance is beaten."""
    monkeypatch.setattr(optimal, "ONE_BY_ONE", 10)
    monkeypatch.setattr(optimal, "BATCH_SHARE", 8)
    monkeypatch.setattr(optimal, "SAMPLE", 20)
    graph = Graph.grid(6, 6)
    prior = DesignPrior.of(Network(graph), graph.items, spread=2.0, cuts=np.array([0.5]))
    judges = tuple("ABCDEF")
    groups = {item: "north" if k < 24 else "south" for k, item in enumerate(graph.items)}
    known = {judge: ("north", "south")[: 1 + (judge > "B")] for judge in judges}
    wish = DesignWish(
        items=graph.items, judges=judges, per_judge=18, policy="optimal",
        groups=tuple(groups.values()), known=known,
    )  # fmt: skip
    search = optimal.OptimalSearch(wish, prior, np.random.default_rng(1))
    search.grow()
    search.connect()
    _, first, second = search.draft.columns()
    assert search.draft.components().max() == 0
    assert len(first) == 6 * 18
    assert search.variance.value == pytest.approx(expected_variance(prior, first, second))
    plain = balanced_draft(wish, np.random.default_rng(1))
    assert search.variance.value < optimal.variance_of(plain, prior)


def least_variance(size: int, degree: int, variance: float, information: float) -> float:
    """A bound for independent items, each compared `degree` times, no pair twice.

    The eigenvalues of who is compared with whom have known sums and sums of squares, and sums of
    cubes that are least without triangles. Among numbers with these moments two points (Gauss'
    quadrature) have the least mean of 1 / (1/α² + w (d − λ)): all its derivatives are positive.
    """
    one, two, three = (-(degree**k) / (size - 1) for k in (1, 2, 3))
    two += size * degree / (size - 1)
    square = two - one**2
    skew = (three - 3 * one * two + 2 * one**3) / square**1.5
    ends = [one + square**0.5 * (skew + sign * (skew**2 + 4) ** 0.5) / 2 for sign in (-1, 1)]
    share = (one - ends[0]) / (ends[1] - ends[0])
    left = [1 / (1 / variance + information * (degree - end)) for end in ends]
    return ((1 - share) * left[0] + share * left[1]) / variance


@pytest.mark.parametrize(("size", "degree"), [(24, 5), (40, 8)])
def test_independent_items_leave_an_optimum_little_to_gain(size, degree):
    """It is within half a per cent of what no design of its kind can be below (docs/designs.md)."""
    items = tuple(str(k) for k in range(size))
    prior = DesignPrior.of(Independent(items), items, spread=2.0, cuts=np.array([0.5]))
    wish = DesignWish(
        items=items, judges=("A", "B"), per_judge=size * degree // 4, policy="optimal"
    )
    draft, _ = optimal_draft(wish, prior, np.random.default_rng(1))
    _, first, second = draft.columns()
    assert set(draft.count.tolist()) == {degree}
    assert len({frozenset(pair) for pair in zip(first, second, strict=True)}) == len(first)
    bound = least_variance(size, degree, 2.0, prior.information()[0, 1])
    assert bound <= expected_variance(prior, first, second) <= 1.005 * bound


@pytest.fixture
def ctrl_c() -> Iterator[None]:
    """The signal interrupts, as in a terminal; processes of the tests ignore it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("ctrl_c")
@pytest.mark.parametrize(
    ("size", "what", "after"),
    everyday(
        [(8, "choosing pairs", 7), (8, "exchanging", 3), (620, "choosing", 60)],
        (8, "choosing pairs", 7), (8, "exchanging", 3),
    ),
)  # fmt: skip
def test_stopped_by_ctrl_c_it_is_the_best_so_far(size, what, after):
    """The signal itself: every list is full, nothing is twice, and it is not worse than balanced.

    Above 600 items pairs are chosen many at a time.
    """
    items = tuple(str(k) for k in range(size))
    prior = DesignPrior.of(Independent(items), items, spread=2.0, cuts=np.array([0.5]))
    wish = DesignWish(items=items, judges=("A", "B"), per_judge=max(9, size), policy="optimal")
    stopped = []

    def stop(at: str, done: int, total: int) -> None:
        if at.startswith(what) and done >= after and not stopped:
            stopped.append(done)
            signal.raise_signal(signal.SIGINT)

    design = make_design(wish, prior, progress=stop)
    assert stopped
    assert design.interrupted
    for pairs in design.lists.lists.values():
        assert len({pair.items for pair in pairs}) == len(pairs) == wish.per_judge
    place = {item: k for k, item in enumerate(items)}
    value = {}
    for policy, lists in (
        ("stopped", design.lists),
        ("balanced", make_design(replace(wish, policy="balanced"), prior).lists),
    ):
        first, second = np.array([(place[p.left], place[p.right]) for p in lists.pairs]).T
        value[policy] = expected_variance(prior, first, second)
    # Another balanced one, by another order of items: about as good.
    assert value["stopped"] <= value["balanced"] * 1.02


def test_a_pair_that_was_coming_when_ctrl_c_was_pressed_is_left_out():
    wish = DesignWish(items=PATH.items, judges=("A", "B"), per_judge=9, policy="optimal")
    draft = DraftLists(wish)
    draft.add(0, 1, 2)
    draft.add(1, 1, 2)
    draft.judge.append(0)  # and nothing more
    whole = draft.whole()
    assert [column.tolist() for column in whole.columns()] == [[0, 1], [1, 1], [2, 2]]
    assert whole.count.tolist() == [0, 2, 2, 0, 0, 0, 0, 0]
