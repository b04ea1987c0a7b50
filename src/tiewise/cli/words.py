"""The command of languages: makes a file of words for one, and checks it."""

from __future__ import annotations

import click

from tiewise.cli.study import FOLDER
from tiewise.errors import InputError


@click.command()
@FOLDER
@click.argument("language", metavar="LANGUAGE")
@click.option("--update", is_flag=True, help="add texts that the file lacks, empty")
def words(folder: str, language: str, update: bool) -> None:
    """Make DIR/words/LANGUAGE.toml, to be translated; or check the one that is there.

    LANGUAGE is a code such as de. Of a language that the site speaks already the file has its
    texts, to be read and improved by a native speaker. It counts once study.languages names it.
    """
    from pathlib import Path

    from tiewise.study.words.languages import words_file
    from tiewise.web.words.new_file import add_missing, check_words, make_words

    path = words_file(Path(folder), language)
    if not path.is_file():
        made = make_words(folder, language)
        empty = len(check_words(folder, language))
        todo = f"{empty} things to fill in" if empty else "nothing to fill in, but to be read"
        click.echo(f"Written: {made}, with {todo}. Then: tiewise words {folder} {language}")
        return
    if update:
        added = add_missing(folder, language)
        click.echo(f"{added} text{'s'[: added != 1]} added to {path}")
    problems = check_words(folder, language)
    for problem in problems:
        click.echo(problem)
    if problems:
        raise InputError(
            f"{len(problems)} thing{'s'[: len(problems) > 1]} to mend in {path}, as said above"
        )
    click.echo(f"{path} is whole. {_next_step(folder, language)}")


def _next_step(folder: str, code: str) -> str:
    """What is left to do before judges see the language."""
    from tiewise.study.study import Study
    from tiewise.web.words.of_study import language_faults

    study = Study.open(folder)
    if code not in study.settings.study.languages:
        return f'To offer it, add "{code}" to study.languages in study.toml.'
    left = language_faults(study).get(code)
    return left[0] if left else "Judges are offered it."


COMMANDS = (words,)
