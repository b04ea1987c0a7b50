"""The commands that keep a study safe: back it up, restore it, upgrade it, and erase it in time."""

from __future__ import annotations

import click

from tiewise.cli.backup_options import FOLDER_VARIABLE, KEY_FILE, encryption_key
from tiewise.cli.study import DATABASE, FOLDER, opened
from tiewise.errors import InputError
from tiewise.text import quantity


@click.command()
@FOLDER
@click.option("--out", help="file to write; default: one in DIR/backups, named after the moment")
@click.option("--into", envvar=FOLDER_VARIABLE, help="folder for it, in place of DIR/backups")
@click.option("--keep", type=click.IntRange(1), help="delete all but so many in that folder")
@KEY_FILE
@click.option("--plaintext", is_flag=True, help="do not encrypt it")
@DATABASE
def backup(
    folder: str,
    out: str | None,
    into: str | None,
    keep: int | None,
    key_file: str | None,
    plaintext: bool,
    database: str | None,
) -> None:
    """Back up the study in DIR, all of it in one encrypted file, while its site runs."""
    from tiewise.study.backups.backup import backup_folder, delete_oldest, make_backup

    if out and keep:
        raise InputError("--out names one file; --keep is for a folder of them")
    with opened(folder, database) as (study, store):
        key = encryption_key(key_file, plaintext=plaintext)
        path = make_backup(study.folder, store.engine.url, key=key, out=out, into=into)
    click.echo(f"Backed up to {path}")
    if keep:
        place = study.folder.resolve()
        gone = delete_oldest(backup_folder(place, into), place.name, keep=keep)
        click.echo(f"Deleted: {len(gone)} older, {keep} are kept" if gone else "None is too old")


@click.command("backup-key")
@click.argument("file", metavar="FILE")
def backup_key(file: str) -> None:
    """Make a key for backups in FILE, and its public half in FILE.pub.

    A site needs the public half alone, to encrypt. Keep FILE elsewhere: restoring needs it.
    """
    from tiewise.study.backups.keys import make_backup_key

    key = make_backup_key(file)
    click.echo(f"Written to {file}: keep it apart from the site, and a second copy of it")
    click.echo(f"Written to {file}.pub, for --key-file of backup and serve: {key.public[0]}")


@click.command()
@click.argument("archive", metavar="ARCHIVE")
@FOLDER
@KEY_FILE
@click.option("--replace", is_flag=True, help="where DIR holds a study: move that aside")
@DATABASE
def restore(
    archive: str, folder: str, key_file: str | None, replace: bool, database: str | None
) -> None:
    """Restore a study from ARCHIVE into the folder DIR, once all of it has been checked.

    A study on PostgreSQL goes into an empty database (--database).
    """
    from tiewise.study.backups.keys import read_backup_key
    from tiewise.study.backups.restore import restore as run

    key = read_backup_key(key_file) if key_file else None
    done = run(archive, folder, url=database, key=key, replace=replace)
    click.echo(
        f"Restored to {folder}: {quantity(done.facts.judgements, 'judgement')}, as of "
        f"{done.facts.moment:%Y-%m-%d %H:%M:%S} UTC"
    )
    if done.replaced:
        click.echo(f"What was there before is in {done.replaced}; erase it when nobody needs it")
    if done.erased_again:
        click.echo(f"Judges who had withdrawn since, erased again: {done.erased_again}")


@click.command()
@FOLDER
@click.option("--no-backup", is_flag=True, help="do not back it up first")
@DATABASE
def upgrade(folder: str, no_backup: bool, database: str | None) -> None:
    """Bring the database of the study in DIR up to date with this version.

    Every other command does so, too, when it first opens a study of an earlier version.
    """
    from tiewise.study.schema import newest_revision
    from tiewise.study.study import Study

    Study.open(folder).store(database, backup=not no_backup).close()
    click.echo(f"{folder} is up to date: revision {newest_revision()}")


@click.command()
@FOLDER
@click.option(
    "--backup-into",
    envvar=FOLDER_VARIABLE,
    help="folder outside DIR with backups, which are deleted, too",
)
@click.option("--yes", is_flag=True, help="do not ask")
@DATABASE
def erase(folder: str, backup_into: str | None, yes: bool, database: str | None) -> None:
    """Erase what judges of the study in DIR were promised would be erased.

    All of judges and their judgements, the files and descriptions of items, exported tables, and
    backups. Settings, names of items and the report stay.
    """
    from tiewise.study.retention.erase import erase_study

    with opened(folder, database) as (study, store):
        if not yes:
            click.confirm(
                f"Erase all answers of {study.settings.study.title!r} for good, and its backups?",
                abort=True,
            )
        done = erase_study(study, store, backups=backup_into)
    click.echo(
        f"Erased: {quantity(done.judges, 'judge')}, {quantity(done.judgements, 'judgement')}, and "
        f"{quantity(len(done.files), 'file or folder', 'files and folders')} of items, tables and "
        "backups"
    )
    click.echo("Copies elsewhere, such as backups that were moved, are yours to delete")


COMMANDS = (backup, backup_key, restore, upgrade, erase)
