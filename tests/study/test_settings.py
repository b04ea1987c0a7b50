"""study.toml: every fault named with its key and the way out, nothing unknown let by."""

from __future__ import annotations

import tomllib
from dataclasses import asdict
from importlib import resources
from pathlib import Path
from string import Template

import pytest

from tiewise.data.answers import ANSWERS, MOST_LEVELS, AnswerScale
from tiewise.errors import InputError
from tiewise.model import PRIOR_SET_NAMES
from tiewise.study.media.limits import FileLimits
from tiewise.study.settings import PRIORS, AnswerSettings, problems, read_settings

LEAST = '[study]\ntitle = "Wards"\nquestion = "Which is greener?"\n'


FIELD = '[[judges.fields]]\nname = "a"\nlabel = "x"\n'


def faults(text: str) -> list[str]:
    return [str(problem) for problem in problems(tomllib.loads(text))]


def written(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "study.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_the_template_is_a_study_and_says_what_the_defaults_are(tmp_path):
    text = resources.files("tiewise.study").joinpath("study.toml.template").read_text("utf-8")
    words = dict.fromkeys(("title", "question", "higher", "lower", "noun"), '"x"')
    numbers = {"target": 30, **asdict(FileLimits())}
    filled = read_settings(written(tmp_path, Template(text).substitute(words, **numbers)))
    least = read_settings(written(tmp_path, '[study]\ntitle = "x"\nquestion = "x"\n'))
    assert filled.answers == least.answers
    assert filled.judges == least.judges
    assert filled.pairing == least.pairing
    assert filled.support == least.support
    assert filled.files == least.files
    assert filled.study.target == least.study.target
    assert filled.study.languages == least.study.languages


def test_limits_of_files_are_whole_numbers_above_nothing():
    assert faults(f"{LEAST}[files]\npages = 0\n") == [
        "files.pages: 0; a whole number from 1 to 999,999,999"
    ]
    assert faults(f'{LEAST}[files]\npages = "many"\n') == [
        "files.pages: a whole number was expected, not 'many'"
    ]
    assert faults(f"{LEAST}[files]\npage = 3\n") == ["files.page: no such key; did you mean pages?"]


def test_names_of_priors_are_those_of_the_command():
    assert PRIORS == PRIOR_SET_NAMES
    assert faults(f'{LEAST}[model]\npriors = "vague"\n') == [
        "model.priors: 'vague'; there are default, paper"
    ]
    for name in PRIORS:
        assert faults(f'{LEAST}[model]\npriors = "{name}"\n') == []


def test_a_title_and_a_question_are_enough(tmp_path):
    made = read_settings(written(tmp_path, LEAST))
    assert made.study.question == "Which is greener?"
    assert made.answers.ties


@pytest.mark.parametrize(
    ("more", "key", "words"),
    [
        ('colour = "red"', "study.colour", "no such key"),
        ("titel = 3", "study.titel", "did you mean title?"),
        ("target = 0", "study.target", "one comparison or more"),
        ('target = "30"', "study.target", "a whole number was expected, not '30'"),
        ("target = true", "study.target", "a whole number"),
        ("languages = []", "study.languages", "name one"),
        ('languages = ["tlh"]', "study.languages", "'tlh'; there are en, ar"),
        ('languages = "en"', "study.languages", "a list in [brackets]"),
        ("languages = [1]", "study.languages[1]", "text in quotes"),
        ('noun = " "', "study.noun", "empty"),
        ("[answer]\nties = true", "answer", "did you mean answers?"),
        ('[answers]\nties = "yes"', "answers.ties", "true or false"),
        ("[consent]\nversion = 2", "consent.version", "text in quotes"),
        ('[consent]\nversion = ""', "consent.version", "empty"),
        ('[pairing]\npolicy = "clever"', "pairing.policy", "uniform, balanced, info"),
        ("[pairing]\npractice = 21", "pairing.practice", "0 to 20"),
        ("[pairing]\nrepeats = 0.9", "pairing.repeats", "0 to 0.5"),
        ('[support]\nexit = "javascript:alert(1)"', "support.exit", "https://"),
        ('[[judges.fields]]\nname = "a"', "judges.fields[1].label", "missing"),
        ('[[judges.fields]]\nname = "a b"\nlabel = "x"', "judges.fields[1].name", "letters"),
        (FIELD + 'kind = "map"', "judges.fields[1].kind", "there are text"),
        (FIELD + 'kind = "choice"', "judges.fields[1].choices", "needs some"),
        (FIELD * 2, "judges.fields[2].name", "twice"),
        ('[translations.de]\nstudy_title = "x"', "translations.de", "there are en, ar"),
        ('[translations.ar]\ntitle = "x"', "translations.ar.title", "there are study_title"),
        ("[translations.ar]\nstudy_title = 1", "translations.ar.study_title", "text"),
    ],
)  # fmt: skip
def test_every_fault_has_its_key_and_a_way_out(tmp_path, more, key, words):
    lines = faults(LEAST + more)
    assert any(line.startswith(f"{key}: ") and words in line for line in lines), lines
    with pytest.raises(InputError, match="study.toml"):
        read_settings(written(tmp_path, LEAST + more))


def test_all_faults_are_found_at_once_and_the_first_is_told_with_their_number(tmp_path):
    text = LEAST + 'colour = 1\ntarget = "x"\n[answers]\nties = 0\n'
    assert len(faults(text)) == 3
    with pytest.raises(InputError, match=r"study\.colour.*2 more.*tiewise check"):
        read_settings(written(tmp_path, text))


def test_what_is_missing_is_named():
    assert faults("") == ["study: missing; a study cannot do without it"]
    assert "study.question: missing; a study cannot do without it" in faults('[study]\ntitle="x"')


def test_no_study_and_no_toml_are_told_apart(tmp_path):
    with pytest.raises(InputError, match="is no study.*tiewise new"):
        read_settings(tmp_path / "study.toml")
    with pytest.raises(InputError, match="is not TOML.*line 1"):
        read_settings(written(tmp_path, "title: x"))


def test_words_of_another_language_stand_in_where_there_are_any(tmp_path):
    more = '[translations.ar]\nstudy_question = "أيها أكثر خضرة؟"\n'
    made = read_settings(written(tmp_path, LEAST + more))
    assert made.word("study.question", "ar") == "أيها أكثر خضرة؟"
    assert made.word("study.question", "en") == "Which is greener?"
    assert made.word("study.title", "ar") == "Wards"


def test_there_is_a_wording_for_every_answer():
    wordings = {name for name, value in vars(AnswerSettings()).items() if value == ""}
    graded = AnswerScale.of(ties=True, skips=True, levels=MOST_LEVELS).answers
    assert wordings == {answer.name for answer in (*ANSWERS, *graded)}


@pytest.mark.parametrize("grades", range(2, 8))
def test_a_study_has_as_many_answers_as_grades(tmp_path, grades):
    ties = "true" if grades % 2 else "false"
    made = read_settings(written(tmp_path, f"{LEAST}[answers]\ngrades = {grades}\nties = {ties}\n"))
    assert len(made.answers.scale.grades) == grades


@pytest.mark.parametrize(
    ("more", "key", "words"),
    [
        ("grades = 8", "answers.grades", "8; from 2 to 7, or 0"),
        ("grades = 1", "answers.grades", "1; from 2 to 7, or 0"),
        ("grades = 4", "answers.grades", "4, and a scale of so many has no answer in its middle"),
        ("grades = 5\nties = false", "answers.grades", "5, and a scale of so many has an answer"),
        ('left_2 = "Much"', "answers.left_2", "there are 3 answers, and this is none of them"),
        ('grades = 5\nright_3 = "x"\nleft_3 = "x"', "answers.left_3", "there are 5 answers"),
        ('grades = 5\nright_2 = "Far more"', "answers.right_2", "word left_2 and right_2 alike"),
        (
            'grades = 5\n[translations.ar]\nanswers_left = "أكثر"',
            "translations.ar.answers_left",
            "word left and right alike",
        ),
    ],
)
def test_grades_that_cannot_be_are_refused_in_a_line(tmp_path, more, key, words):
    with pytest.raises(InputError) as refused:
        read_settings(written(tmp_path, f"{LEAST}[answers]\n{more}\n"))
    assert f"{key}: " in str(refused.value)
    assert words in str(refused.value)


def test_grades_and_their_words_are_part_of_the_meaning(tmp_path):
    """In each language that words them; of plain answers the number alone."""
    assert read_settings(written(tmp_path, LEAST)).meaning()["answers.grades"] == "3"
    words = 'grades = 4\nties = false\nleft_2 = "Far more"\nright_2 = "Far more"\n'
    arabic = '[translations.ar]\nanswers_left_2 = "أكثر"\nanswers_right_2 = "أكثر"\n'
    meaning = read_settings(written(tmp_path, f"{LEAST}[answers]\n{words}{arabic}")).meaning()
    assert meaning["answers.grades"] == "4"
    assert {key: word for key, word in meaning.items() if "left" in key} == {
        "answers.left": "as usual",
        "answers.left_2": "Far more",
        "translations.ar.answers_left_2": "أكثر",
    }
