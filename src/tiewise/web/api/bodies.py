"""What the API answers, as types: mypy checks the code by them, and they are its description.

A string beside a type says what the value means; a keyword adds to its JSON schema.
"""

from __future__ import annotations

from typing import Annotated, NotRequired, TypedDict

from tiewise.data.answers import ANSWERS
from tiewise.study.values import Phase
from tiewise.web.api.json_schema import Keyword

Count = Annotated[int, Keyword("minimum", 0)]
Place = Annotated[int, Keyword("minimum", 1)]
Share = Annotated[float, Keyword("minimum", 0), Keyword("maximum", 1)]
Moment = Annotated[str, Keyword("format", "date-time")]
AnswerName = Annotated[str, Keyword("enum", tuple(answer.stored for answer in ANSWERS))]


class ErrorBody(TypedDict):
    """What is amiss, and the way out."""

    error: str
    status: Annotated[int, "the status of the answer"]


class ContentBody(TypedDict):
    """One of the paths of the API."""

    path: Annotated[str, "where it is on this host"]
    holds: Annotated[str, "what it holds"]


class IndexBody(TypedDict):
    """What there is to read."""

    study: Annotated[str, "the title of the study"]
    version: Annotated[int, "the version of the API"]
    has: Annotated[dict[str, ContentBody], "the paths by their names"]


class SnapshotBody(TypedDict):
    """The picture that figures are from."""

    id: int
    made: Annotated[Moment, "when it was made, UTC"]
    comparisons: Annotated[Count, "judgements in it that carry information: no skips"]


class GradeBody(TypedDict):
    """How often a graded answer was given."""

    answer: AnswerName
    grade: Annotated[int | None, "how strongly the item was chosen, from 1; null for a tie"]
    count: Count


class QuestionBody(TypedDict):
    """One of several questions that are asked of each pair."""

    id: Annotated[str, "what the parameter question takes"]
    question: str
    higher: str
    lower: str
    weight: Annotated[float, "its share in the composite"]


class StudyBody(TypedDict):
    """What is asked, and how far it is."""

    title: str
    question: str
    higher: Annotated[str, "what the item with more of it is called"]
    lower: Annotated[str, "what the item with less of it is called"]
    noun: Annotated[str, "what an item is called"]
    phase: Phase
    items: Annotated[Count, "how many there are"]
    groups: Annotated[list[str], "their groups, where there are several"]
    goal: Annotated[Count | None, "comparisons wanted in all"]
    reliability_wanted: Share
    reliability: Annotated[Share | None, "as it is"]
    judges: Annotated[Count, "how many judges count"]
    answers: Annotated[dict[AnswerName, Count] | None, "how many answers of each kind count"]
    grades: Annotated[
        list[GradeBody] | None,
        "how many of each grade, from all for the left item to all for the right; null where "
        "answers are not graded",
    ]
    snapshot: SnapshotBody | None
    question_id: NotRequired[Annotated[str, "the question that this is about, of several"]]
    questions: NotRequired[Annotated[list[QuestionBody], "all of them, where there are several"]]


class ItemBody(TypedDict):
    """One of the things that are compared."""

    id: str
    name: str
    group: str | None


class ItemsBody(TypedDict):
    """What is compared."""

    items: list[ItemBody]


class IntervalBody(TypedDict):
    """The median of a parameter, and the ends of its 95 % interval."""

    median: float
    low: float
    high: float


class EstimateBody(TypedDict):
    """Quality and rank of an item; low and high are the ends of 95 % intervals."""

    id: str
    name: str
    median: Annotated[float, "of the quality, where 0 is the average item; as mean, sd, low, high"]
    mean: float
    sd: Annotated[float, Keyword("minimum", 0)]
    low: float
    high: float
    rank: Annotated[Place, "posterior median rank, 1 the highest"]
    rank_low: Place
    rank_high: Place
    top: Annotated[Share, "chance to be among the top k"]
    score: NotRequired[
        Annotated[float, "on the scale that the study shows; left out where it shows logits"]
    ]
    score_sd: NotRequired[Annotated[float, Keyword("minimum", 0)]]
    score_low: NotRequired[float]
    score_high: NotRequired[float]
    comparisons: Annotated[Count, "judgements that it was in"]


class EstimatesBody(TypedDict):
    """Quality and rank of every item; only snapshot and items before the first comparison."""

    snapshot: SnapshotBody | None
    engine: NotRequired[Annotated[str, "how it was fitted"]]
    kind: NotRequired[Annotated[str, "exact or approximate"]]
    tie: NotRequired[Annotated[IntervalBody | None, "the tie threshold; null without ties"]]
    cuts: NotRequired[
        Annotated[
            list[IntervalBody] | None,
            "the cuts between graded answers, of which the tie threshold is the first; null where "
            "answers are not graded",
        ]
    ]
    variance: NotRequired[Annotated[IntervalBody, "the variance of quality"]]
    reliability: NotRequired[
        Annotated[Share, "the share of the differences between items that is known"]
    ]
    scale: NotRequired[Annotated[str, "the scale of scores: logit, elo, 0-100 or anchored"]]
    top_of: NotRequired[Annotated[Count, 'k of "chance to be among the top k"']]
    cautions: NotRequired[Annotated[list[str], "what to beware of, in sentences"]]
    items: list[EstimateBody]


class CoverageItemBody(TypedDict):
    """Comparisons of an item, and the part that it hangs together with."""

    id: str
    name: str
    comparisons: Count
    part: Annotated[Count, "0 is the largest part"]


class CoverageBody(TypedDict):
    """Comparisons of every item, and what hangs together."""

    snapshot: SnapshotBody | None
    parts: Annotated[
        Count | None, "how many sets the comparisons fall into, with none between them"
    ]
    items: list[CoverageItemBody]


class CommentBody(TypedDict):
    """What a judge ticked and wrote of a pair."""

    offer_id: Annotated[int, "that of offers.csv"]
    judge: str
    left: Annotated[str, "the id of the item on the left"]
    right: str
    question: Annotated[str, "the id of the question; empty where it is about the whole pair"]
    reasons: Annotated[list[str], "the study's own words that were ticked"]
    comment: str
    written: Moment


class CommentsBody(TypedDict):
    """Reasons and comments of judges who count, oldest first."""

    comments: list[CommentBody]
