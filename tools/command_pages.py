"""The reference of the command `tiewise`: a page for each command, from what click knows of it."""

from __future__ import annotations

import inspect
import re

import click

from tiewise.cli.main import main


def command_pages() -> dict[str, str]:
    """The pages, by the names of their files."""
    context = click.Context(main, info_name="tiewise")
    commands = {
        name: command for name in main.list_commands(context)
        if (command := main.get_command(context, name)) is not None and not command.hidden
    }  # fmt: skip
    pages = {f"{name}.md": command_page(name, command) for name, command in commands.items()}
    return pages | {"index.md": _index(commands)}


def _index(commands: dict[str, click.Command]) -> str:
    rows = [
        f"| [`tiewise {name}`]({name}.md) | {_first_line(one)} |" for name, one in commands.items()
    ]
    lines = [
        "# Commands and options", "",
        "Made from the commands themselves, so it says what `tiewise COMMAND --help` says. "
        "[The command](../../command.md) tells the same in its context, with the files, columns, "
        "warnings and exit codes.", "",
        "| command | does |", "|---|---|",
        *rows,
        "", "```{toctree}", ":hidden:", ":titlesonly:", "", *commands, "```", "",
    ]  # fmt: skip
    return "\n".join(lines)


def command_page(name: str, command: click.Command) -> str:
    """What a command does, what it takes, and its options."""
    context = click.Context(command, info_name=f"tiewise {name}")
    usage = " ".join(command.collect_usage_pieces(context))
    lines = [
        f"# tiewise {name}",
        "",
        "```text",
        f"tiewise {name} {usage}",
        "```",
        "",
        _prose(command),
        "",
    ]
    options = [
        one for one in command.get_params(context)
        if isinstance(one, click.Option) and not one.hidden
    ]  # fmt: skip
    lines += ["| option | takes | |", "|---|---|---|"]
    lines += [_row(option, context) for option in options]
    return "\n".join([*lines, ""])


def _row(option: click.Option, context: click.Context) -> str:
    names = ", ".join(f"`{name}`" for name in [*option.opts, *option.secondary_opts])
    takes = "" if option.is_flag else _takes(option, context)
    help_text = _plain(option.help or "")
    shown = option.get_help_extra(context) if option.show_default else {}
    default = f" Default: `{shown['default']}`." if "default" in shown else ""
    end = "" if not help_text or help_text.endswith(".") else "."
    return f"| {names} | {takes} | {_sentence(help_text)}{end}{default} |"


def _takes(option: click.Option, context: click.Context) -> str:
    if isinstance(option.type, click.Choice):
        return ", ".join(f"`{choice}`" for choice in option.type.choices)
    if isinstance(option.type, click.IntRange | click.FloatRange):
        low, high = option.type.min, option.type.max
        kind = "whole number" if isinstance(option.type, click.IntRange) else "number"
        return kind + (f" from {low}" if low is not None else "") + (f" to {high}" if high else "")
    named = {click.INT: "whole number", click.FLOAT: "number"}
    return named.get(option.type, _plain(option.make_metavar(context).strip("[]").lower()))


def _prose(command: click.Command) -> str:
    text = inspect.cleandoc(command.help or "").replace("\b\n", "")
    return _plain(text, table=False)


def _first_line(command: click.Command) -> str:
    return _plain(command.get_short_help_str(200)).rstrip(".")


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]


def _plain(text: str, *, table: bool = True) -> str:
    """Text of the help, in which nothing is markup but what looks like an option."""
    text = re.sub(r"([*_<>\[\]|])", r"\\\1", text)
    text = re.sub(r"(?<![\w`])(--[a-z][\w-]*)", r"`\1`", text)
    return " ".join(text.split()) if table else text
