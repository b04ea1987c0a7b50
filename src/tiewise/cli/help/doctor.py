"""`tiewise doctor`: what is installed, what it runs with, and what is in the way."""

from __future__ import annotations

import json

import click


@click.command()
@click.option("--json", "as_json", is_flag=True, help="print it as JSON")
def doctor(as_json: bool) -> None:
    """Say what is installed and what it runs with, for a report of a fault or to find one."""
    from tiewise.installation import examine

    findings = examine()
    if as_json:
        click.echo(json.dumps([finding._asdict() for finding in findings], indent=2))
        return
    topic, width = "", max(len(finding.what) for finding in findings)
    for finding in findings:
        if finding.topic != topic:
            topic = finding.topic
            click.echo(f"\n{topic}" if finding is not findings[0] else topic)
        click.echo(f"  {finding.what:{width}}  {finding.state}")
        if finding.advice:
            click.echo(f"  {'':{width}}  → {finding.advice}")


COMMANDS = (doctor,)
