"""The next pair of a judge: a pure function of their items, their history, the state and an rng."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple

from numpy.random import Generator

from tiewise.errors import InputError
from tiewise.pairing import POLICIES
from tiewise.pairing.candidates import ANCHOR_LIMIT, Candidates, Policy
from tiewise.pairing.candidates import Pair as Pair
from tiewise.pairing.state import PairingState as PairingState
from tiewise.registry import load


class OrderedPair(NamedTuple):
    """A pair to show, sides decided; `repeat` where the judge answered it before."""

    left: str
    right: str
    repeat: bool = False


def load_policy(name: str) -> Policy:
    """The policy of this name."""
    if name not in POLICIES:
        raise InputError(f"no pairing policy {name!r}; there are {', '.join(POLICIES)}")
    policy: Policy = load(POLICIES[name])
    return policy


def next_pair(
    items: Sequence[str],
    seen: Collection[Pair],
    rng: Generator,
    *,
    repeats: float = 0.0,
    answered: Sequence[OrderedPair] = (),
    policy: str = "uniform",
    state: PairingState | None = None,
    hard_pairs: Collection[Pair] = (),
    random_share: float = 0.2,
    anchors: Collection[str] = (),
    anchor_limit: int = ANCHOR_LIMIT,
) -> OrderedPair | None:
    """A pair of `items` that is not in `seen`, chosen by a policy; None where none is left.

    With probability `repeats` it is instead one of the `answered`, with its sides exchanged.
    `state` summarises the answers of all judges, and may be some seconds old. `hard_pairs` are
    those that this judge called equal or skipped; `random_share` of the informative pairs are
    drawn at random. The reference policy compares with `anchors`, each at most `anchor_limit`
    times.
    """
    chosen_policy = load_policy(policy)
    if chosen_policy.needs_anchors and not anchors:
        raise InputError(
            f"the policy {policy!r} compares items with anchors, and there are none; give anchors, "
            "or choose another policy"
        )
    if answered and rng.random() < repeats:
        again = answered[int(rng.integers(len(answered)))]
        return OrderedPair(again.right, again.left, repeat=True)
    candidates = Candidates.among(
        items, seen, state=state, hard_pairs=hard_pairs, random_share=random_share,
        anchors=anchors, anchor_limit=anchor_limit,
    )  # fmt: skip
    if not candidates.left:
        return None
    chosen = chosen_policy.choose(candidates, rng)
    if chosen is None:
        return None
    i, j = chosen
    first, second = (i, j) if rng.random() < 0.5 else (j, i)
    return OrderedPair(candidates.items[first], candidates.items[second])
