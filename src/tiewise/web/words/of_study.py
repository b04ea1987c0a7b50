"""The languages that a study offers, and what stands against offering them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from tiewise.errors import InputError
from tiewise.study.inviting.delivery import MailText
from tiewise.study.inviting.mail import LINK, NAME
from tiewise.study.settings import read_toml
from tiewise.study.study import Study
from tiewise.study.words.languages import LANGUAGES, words_file
from tiewise.web.words.check import file_problems, sound_words
from tiewise.web.words.language import ORIGINAL, Language, language, make_language
from tiewise.web.words.new_file import RIGHT_TO_LEFT


def study_languages(study: Study) -> dict[str, Language]:
    """The languages of a study by code; its own file of words comes before ours."""
    return {code: _study_language(study, code) for code in study.settings.study.languages}


def mail_text(study: Study) -> MailText:
    """What a mail to those who are invited says, in the first language of a study."""
    code = study.settings.study.languages[0]
    words, title = _study_language(study, code), study.settings.word("study.title", code)
    greeting, stop = words.translate("mail.greeting", name=NAME), words.translate("mail.stop")
    invited = words.translate("mail.invited", title=title)
    first = (greeting, invited, f"{words.translate('mail.link')}\n{LINK}", stop)
    again = (greeting, f"{words.translate('mail.reminder', title=title)}\n{LINK}", stop)
    subject = words.translate("mail.subject", title=title)
    return MailText(subject, "\n\n".join(first), "\n\n".join(again))


def _study_language(study: Study, code: str) -> Language:
    shipped = language(code if code in LANGUAGES else ORIGINAL)
    if not words_file(study.folder, code).is_file():
        return shipped
    try:
        tables = read_toml(words_file(study.folder, code))
    except InputError:
        tables = {}
    own = make_language(code, {"language": _about(code, tables)})
    return own._replace(words={**shipped.words, **sound_words(code, tables)})


def _about(code: str, tables: Mapping[str, Any]) -> Mapping[str, Any]:
    about = tables.get("language")
    faults = {fault.key for fault in file_problems(code, tables)}
    if isinstance(about, Mapping) and not any(key.startswith("language") for key in faults):
        return about
    return {"name": code, "direction": "rtl" if code in RIGHT_TO_LEFT else "ltr"}


def language_faults(study: Study) -> dict[str, list[str]]:
    """What stands against each language of a study, with the way out; none that is fit."""
    codes = study.settings.study.languages
    faults = {code: list(_faults(study, code)) for code in codes}
    return {code: lines for code, lines in faults.items() if lines}


def _faults(study: Study, code: str) -> Iterator[str]:
    path = words_file(study.folder, code)
    if path.is_file():
        try:
            problems = file_problems(code, read_toml(path))
        except InputError as error:
            yield str(error)
            return
        yield from (f"{path.parent.name}/{path.name}: {problem}" for problem in problems)
    chosen = _study_language(study, code)
    if chosen.unread and code not in study.settings.study.accept_unread:
        yield (
            f"study.languages: no native speaker has read what the site says in {code!r}; have it "
            f"read (`tiewise words {study.folder} {code}`), or say yes to it as "
            f'it is with accept_unread = ["{code}"]'
        )
