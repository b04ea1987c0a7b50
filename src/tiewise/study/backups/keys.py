"""Keys of backups, and their encryption with age: a public key encrypts, its secret key decrypts.

A site needs the public key alone, so that whoever breaks into it cannot read its old backups.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

from tiewise.errors import InputError
from tiewise.optional import require

SECRET, PUBLIC = "AGE-SECRET-KEY-1", "age1"
MAGIC = b"age-encryption.org/"
"""How an encrypted file begins."""
LARGEST_KEY_FILE = 65_536


@dataclass(frozen=True)
class BackupKey:
    """The keys in a file: public ones to encrypt with, secret ones to decrypt with."""

    source: Path
    public: tuple[str, ...]
    secret: tuple[str, ...] = field(default=(), repr=False)


def make_backup_key(path: str | Path) -> BackupKey:
    """Write a new key to a file for its owner alone, and its public half to FILE.pub."""
    age, place = _age(), Path(path)
    if (place.parent / "study.toml").exists():
        raise InputError(
            f"{place} would lie in the folder of a study; keep the key apart from what it protects"
        )
    identity = age.x25519.Identity.generate()
    public = str(identity.to_public())
    lines = f"# The key of backups. Without it they cannot be read.\n# public key: {public}\n"
    _write_new(place, f"{lines}{identity}\n", 0o600)
    _write_new(place.with_name(f"{place.name}.pub"), f"{public}\n", 0o644)
    return read_backup_key(place)


def _write_new(path: Path, text: str, mode: int) -> None:
    try:
        file = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, mode)
    except FileExistsError:
        raise InputError(f"{path} is there already, and is not overwritten; name another") from None
    except OSError as error:
        raise InputError(f"{path} cannot be written ({error.strerror}); name another") from None
    with os.fdopen(file, "w", encoding="ascii") as writer:
        writer.write(text)
        writer.flush()
        os.fsync(writer.fileno())


def read_backup_key(path: str | Path) -> BackupKey:
    """The keys in a file of `tiewise backup-key` or `age-keygen`, secret or public."""
    place = Path(path)
    try:
        with place.open(encoding="ascii", errors="replace") as file:
            lines = [line.strip() for line in file.read(LARGEST_KEY_FILE).splitlines()]
    except OSError as error:
        raise InputError(f"{place}: the key cannot be read ({error.strerror})") from None
    secret = tuple(line for line in lines if line.startswith(SECRET))
    public = tuple(line for line in lines if line.startswith(PUBLIC))
    try:
        derived = tuple(str(one.to_public()) for one in map(_identity, secret))
        for one in public:
            _age().x25519.Recipient.from_str(one)
    except (_age().IdentityError, _age().RecipientError) as error:
        raise InputError(f"{place}: a key in it is damaged ({error}); take another copy") from None
    if not (derived or public):
        raise InputError(f"{place} holds no key; make one with `tiewise backup-key FILE`")
    return BackupKey(place, tuple(dict.fromkeys(derived + public)), secret)


def is_encrypted(file: BinaryIO) -> bool:
    """Whether a file is encrypted with age; it is left at its beginning."""
    begins = file.read(len(MAGIC))
    file.seek(0)
    return begins == MAGIC


@contextmanager
def encrypting(out: BinaryIO, key: BackupKey) -> Iterator[BinaryIO]:
    """A file to write to; what is written is encrypted to `out`, piece by piece."""
    age = _age()
    recipients = [age.x25519.Recipient.from_str(one) for one in key.public]
    reader, writer = _pipe()

    def work() -> None:
        with reader:  # closed when this fails, so that the writer does not wait for ever
            age.encrypt_io(reader, out, recipients)

    with ThreadPoolExecutor(1) as thread:
        job = thread.submit(work)
        try:
            with writer:
                yield writer
        except BrokenPipeError:
            _finish(job, age)
            raise
        _finish(job, age)


def _pipe() -> tuple[BinaryIO, BinaryIO]:
    reading, writing = os.pipe()
    return os.fdopen(reading, "rb"), os.fdopen(writing, "wb")


def _finish(job: Any, age: Any) -> None:
    try:
        job.result()
    except age.EncryptError as error:
        raise OSError(str(error)) from None


@contextmanager
def decrypting(source: BinaryIO, key: BackupKey | None, name: str) -> Iterator[BinaryIO]:
    """A file to read from: `source` decrypted, piece by piece; to its end, or it is refused."""
    if key is None or not key.secret:
        raise InputError(f"{name} is encrypted; name the file with its secret key (key_file=)")
    age = _age()
    identities = [_identity(one) for one in key.secret]
    reader, writer = _pipe()

    def work() -> None:
        with writer:
            age.decrypt_io(source, writer, identities)

    with ThreadPoolExecutor(1) as thread:
        job = thread.submit(work)
        try:
            with reader:
                yield reader
                while reader.read(LARGEST_KEY_FILE):
                    pass
        except BaseException:
            with suppress(OSError):  # what it could not write, because nobody reads any more
                _explain(job, age, name, key)
            raise
        try:
            _explain(job, age, name, key)
        except OSError:
            raise _damaged(name) from None


def _explain(job: Any, age: Any, name: str, key: BackupKey) -> None:
    """Raise what decryption ended with, in words."""
    try:
        job.result()
    except age.DecryptError as error:
        if "matching keys" in str(error):
            raise InputError(
                f"{name} was encrypted with another key than that in {key.source}; name its own "
                "(key_file=)"
            ) from None
        raise _damaged(name) from None


def _damaged(name: str) -> InputError:
    return InputError(f"{name} is damaged or cut off; take another copy, or an earlier backup")


def _identity(text: str) -> Any:
    return _age().x25519.Identity.from_str(text)


def _age() -> Any:
    require("an encrypted backup", "pyrage")
    import pyrage

    return pyrage
