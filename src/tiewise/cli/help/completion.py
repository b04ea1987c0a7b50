"""`tiewise completion`: the script with which a shell completes commands, options and files."""

from __future__ import annotations

from collections.abc import Iterable

import click
from click.shell_completion import CompletionItem, get_completion_class
from click.types import StringParamType

from tiewise.cli.help import topics

SHELLS = ("bash", "zsh", "fish")


class FileName(StringParamType):
    """A text for which a shell offers names of files, or of folders."""

    def __init__(self, kind: str) -> None:
        self._kind = kind

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        """Leave it to the shell, which knows its files."""
        return [CompletionItem(incomplete, type=self._kind)]


def complete_file_names(commands: Iterable[click.Command]) -> None:
    """Let a shell complete names of files and folders where a command takes them."""
    for command in commands:
        for parameter in command.params:
            kind = _kind(parameter)
            if kind and type(parameter.type) is StringParamType:
                parameter.type = FileName(kind)


def _kind(parameter: click.Parameter) -> str | None:
    name = parameter.opts[0]
    folders = topics.FOLDERS + topics.FOLDER_ARGUMENTS
    files = topics.FILES + topics.FILES_OR_FOLDERS + topics.FILE_ARGUMENTS
    return "dir" if name in folders else "file" if name in files else None


@click.command()
@click.argument("shell", type=click.Choice(SHELLS))
@click.pass_context
def completion(ctx: click.Context, shell: str) -> None:
    """Print the script with which SHELL completes commands, options and files."""
    kind = get_completion_class(shell)
    assert kind is not None
    program = ctx.find_root()
    click.echo(kind(program.command, {}, "tiewise", "_TIEWISE_COMPLETE").source())


COMMANDS = (completion,)
