"""The command that shows what Tiewise is."""

from __future__ import annotations

import click


@click.command()
@click.option("--keep", metavar="DIR", help="keep both studies in this folder")
@click.option("--port", type=click.IntRange(1, 65535), help="default: the first free one from 8000")
@click.option("--no-browser", is_flag=True, help="print the addresses, and open nothing")
@click.option("--seed", type=click.IntRange(0), default=1, show_default=True)
def demo(keep: str | None, port: int | None, no_browser: bool, seed: int) -> None:
    """Show what Tiewise is: two made-up studies, judged while you watch.

    A county on a map and a set of essays, on this machine alone. Everything is removed when you
    stop it, unless you say where to keep it.
    """
    from tiewise.demo import run_demo

    run_demo(
        keep=keep, port=port, open_browser=not no_browser, rng=seed, write_line=click.echo
    )  # fmt: skip


COMMANDS = (demo,)
