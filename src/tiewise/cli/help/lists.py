"""Lists of help: commands by journey, and the options of a command that has many by topic."""

from __future__ import annotations

import click

from tiewise.cli.help.topics import JOURNEYS, MANY, TOPICS

WHOLE_SENTENCE = 1_000


class CommandByTopic(click.Command):
    """A command whose options are listed by topic, where there are many."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options, each under its topic, and what belongs to none at the end."""
        options = {
            option.opts[0]: record
            for option in self.get_params(ctx)
            if isinstance(option, click.Option) and (record := option.get_help_record(ctx))
        }
        if len(options) < MANY:
            super().format_options(ctx, formatter)
            return
        topics = {name: [one for one in names if one in options] for name, names in TOPICS.items()}
        listed = {name for names in topics.values() for name in names}
        topics["Other options"] = [name for name in options if name not in listed]
        for topic, names in topics.items():
            if names:
                with formatter.section(topic):
                    formatter.write_dl([options[name] for name in names])


class GroupByJourney(click.Group):
    """Commands that are listed by what somebody is about to do, in whole sentences."""

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands, each under its journey."""
        width = max(map(len, self.commands))
        for journey, names in JOURNEYS.items():
            rows = [
                (name.ljust(width), self.commands[name].get_short_help_str(WHOLE_SENTENCE))
                for name in names
                if name in self.commands
            ]
            if rows:
                with formatter.section(journey):
                    formatter.write_dl(rows)
