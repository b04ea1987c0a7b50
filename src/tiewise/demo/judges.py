"""Simulated judges: they arrive at a running study, answer for a while, and leave."""

from __future__ import annotations

import heapq
from dataclasses import dataclass, field
from threading import Event
from time import monotonic

import numpy as np
from numpy.random import Generator

from tiewise.data.answers import ANSWERS, FIRST, SECOND, SKIP, TIE
from tiewise.demo.studies import DemoStudy
from tiewise.model.likelihood import answer_probabilities
from tiewise.study.judge_store import JudgeStore
from tiewise.study.study import next_offer
from tiewise.study.values import Judge

TIE_THRESHOLD, SKIPPED = 0.4, 0.03
EARLIER, EARLIER_JUDGES = 4, 8
"""Answers for each item, and judges, that a study begins with: a picture needs some."""
MOST_ANSWERS = 40
"""Answers for each item after which simulated judges stay away: a demonstration may run all day."""
LESS_CARE = 0.1
"""Share of judges who do not look closely."""


def answer_of(gap: float, rng: Generator, sharpness: float = 1.0) -> int:
    """The code of an answer, for a difference in quality between left and right."""
    if rng.uniform() < SKIPPED:
        return SKIP
    ahead, tied, _ = answer_probabilities(np.array(sharpness * gap), np.array(TIE_THRESHOLD))
    point = rng.uniform()
    return FIRST if point < ahead else TIE if point < ahead + tied else SECOND


def add_earlier_answers(demo: DemoStudy, store: JudgeStore, rng: Generator) -> int:
    """Answers from before the demonstration; how many."""
    items, rows = list(demo.truth), []
    for k in range(EARLIER * len(items)):
        left, right = (items[one] for one in rng.permutation(len(items))[:2])
        code = answer_of(demo.truth[left] - demo.truth[right], rng)
        judge = f"earlier-{k % EARLIER_JUDGES + 1}"
        rows.append({"judge": judge, "left": left, "right": right, "outcome": ANSWERS[code].stored})
    return store.import_judgements(rows, consent="made up")


@dataclass(slots=True)
class JudgeAtWork:
    """A judge at work: how sharp they are, and how many pairs they still answer."""

    judge: Judge
    sharpness: float
    pause: float
    left_to_do: int


@dataclass
class JudgeCrowd:
    """Some judges of one study at a time; who is done makes room for another."""

    demo: DemoStudy
    store: JudgeStore
    rng: Generator
    together: int = 6
    pause: float = 3.0
    answers: int = field(default=0, init=False)

    def run(self, stop: Event) -> None:
        """Answer until told to stop, or until there are enough answers."""
        most = MOST_ANSWERS * len(self.demo.truth)
        start = monotonic()
        queue = [(start + self._wait(self.pause), k, self._arrival()) for k in range(self.together)]
        heapq.heapify(queue)
        while self.answers < most:
            at, k, judge = heapq.heappop(queue)
            if stop.wait(max(at - monotonic(), 0)):
                return
            if judge.left_to_do == 0 or not self._answer(judge):
                judge = self._arrival()
            heapq.heappush(queue, (monotonic() + self._wait(judge.pause), k, judge))

    def _wait(self, mean: float) -> float:
        """How long somebody looks at a pair, in seconds."""
        return float(mean * (0.4 + 0.6 * self.rng.exponential()))

    def _arrival(self) -> JudgeAtWork:
        study = self.demo.study
        new = self.store.add_judge(
            consent=study.settings.consent.version, language="en", about={"simulated": "yes"}
        )
        assert new is not None
        if study.groups:
            known = [group for group in study.groups if self.rng.uniform() < 0.6]
            self.store.set_groups(new.judge, known or study.groups[:2])
        next_offer(study, self.store, new.judge, self.rng)  # looked at from now on
        careless = self.rng.uniform() < LESS_CARE
        return JudgeAtWork(
            new.judge, 0.1 if careless else float(self.rng.lognormal(0.0, 0.3)),
            self.pause / 3 if careless else self.pause * float(self.rng.lognormal(0.0, 0.3)),
            study.settings.study.target,
        )  # fmt: skip

    def _answer(self, judge: JudgeAtWork) -> bool:
        """Whether there was a pair to answer."""
        offer = next_offer(self.demo.study, self.store, judge.judge, self.rng)
        if offer is None:
            return False
        gap = self.demo.truth[offer.left] - self.demo.truth[offer.right]
        code = answer_of(gap, self.rng, judge.sharpness)
        judge.left_to_do -= 1
        self.answers += 1
        answered = self.store.answer(judge.judge, offer.id, code)
        if judge.left_to_do:
            next_offer(self.demo.study, self.store, judge.judge, self.rng)
        return answered
