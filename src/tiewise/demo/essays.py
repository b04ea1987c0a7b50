"""Made-up essays: better ones have more to say, say it better, and see the other side."""

from __future__ import annotations

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

TITLE = "Should school start an hour later?"

# Each thought as a strong essay has it, and as a weak one does.
OPENINGS = (
    ("Every weekday at half past seven my street is full of people my age who are awake in name "
     "only. The question is not whether that is pleasant but whether it makes sense.",
     "I think school should start later because nobody likes getting up early."),
    ("School begins at the hour it does because it always has. That is a reason to look at it "
     "again, and not a reason to keep it.",
     "In this essay I will say if school should start later or not."),
    ("Ask a room of sixteen-year-olds to solve an equation at nine, and again at eleven, and you "
     "have already carried out most of the experiment.",
     "School starts to early. Everyone knows this."),
)  # fmt: skip
ARGUMENTS = (
    ("Teenagers fall asleep later than children or adults do, whatever they are told. An early "
     "bell does not move their evening; it only cuts an hour from the end of the night.",
     "Teenagers go to bed late so they are tired in the morning."),
    ("Attention is what a lesson is made of. Six lessons given to people who are awake are worth "
     "more than seven given to people who are not.",
     "When your tired you cant learn things properly."),
    ("The first lesson of the day is where lateness, absence and detention collect. Moving it "
     "would spare everybody a morning of excuses.",
     "People would not be late so much, which is good for teachers."),
    ("A later start puts cyclists and walkers on the road in daylight for more of the year, and "
     "after the worst of the traffic.",
     "Also it is dark in winter when you go to school."),
    ("Breakfast is the meal that an early start takes away, and whoever skips it is hungry by the "
     "second lesson.",
     "You would have time for breakfast and stuff."),
    ("Schools that are short of buses could run each bus twice if two schools did not begin at "
     "the same minute.",
     "The buses would be less full probably."),
)  # fmt: skip
OBJECTIONS = (
    "Against this stands the family timetable: parents who start work at eight cannot wait at home "
    "until nine. A supervised library before lessons would cost little and answer most of it.",
    "It is true that an hour gained in the morning is an hour lost to sport and music in the "
    "afternoon. A school would have to say which it values, and that is fair to vote on.",
    "Some say that working life is early, too, and that school is practice for it. But we do not "
    "train for a marathon by sleeping badly for seven years.",
)
ENDINGS = (
    ("I would try it for a year, in one school, and count: marks, lateness, accidents. If nothing "
     "changes, we will have lost an hour. If something does, we will have found one.",
     "So that is why school should start later."),
    ("An hour is a small change to a timetable and a large one to a night. It deserves a trial.",
     "In conclusion I think it is a good idea."),
)  # fmt: skip


def essay(quality: float, rng: Generator) -> str:
    """An essay in Markdown; its quality is in units of the spread of all."""
    care = 1 / (1 + np.exp(-1.4 * quality))

    def worded(pairs: tuple[tuple[str, str], ...]) -> str:
        strong, weak = pairs[rng.integers(len(pairs))]
        return strong if rng.uniform() < care else weak

    count = 1 + int(np.clip(round(1.5 + 1.3 * quality), 0, 4))
    chosen = rng.permutation(len(ARGUMENTS))[:count]
    paragraphs = [worded(OPENINGS), *(worded((ARGUMENTS[k],)) for k in chosen)]
    if rng.uniform() < care:
        paragraphs.append(OBJECTIONS[rng.integers(len(OBJECTIONS))])
    paragraphs.append(worded(ENDINGS))
    return f"# {TITLE}\n\n" + "\n\n".join(paragraphs) + "\n"


def essays(qualities: NDArray[np.float64], rng: Generator) -> dict[str, str]:
    """Essays by the number of their candidate."""
    numbers = 101 + rng.permutation(899)[: len(qualities)]
    return {
        f"Candidate {number}": essay(float(quality), rng)
        for number, quality in zip(np.sort(numbers), qualities, strict=True)
    }
