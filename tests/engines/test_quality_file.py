"""Draws of very many items on disk: what is written is read, by draws and by items."""

from __future__ import annotations

import errno
import gc
import os

import numpy as np
import pytest
from numpy.random import SeedSequence

from tiewise.data.counts import Counts
from tiewise.engines import quality_file, stored_draws
from tiewise.engines.quality_file import QualityFile, StoredQualities
from tiewise.engines.transport import Transport
from tiewise.errors import InputError
from tiewise.model.bradley_terry import BradleyTerry
from tiewise.progress import no_progress

SHAPE = (7, 3, 11)


def filled(values: np.ndarray) -> QualityFile:
    """A file of these values (draws, chains, items), written in two pieces, the last first."""
    file = QualityFile(*values.shape)
    for draw in reversed(range(len(values))):
        file.write(draw, 1, values[draw, 1:])
        file.write(draw, 0, values[draw, :1])
    return file


@pytest.fixture
def values():
    return np.random.default_rng(3).normal(size=SHAPE).astype(np.float32)


@pytest.fixture
def stored(values):
    """The same values in two files that follow one another."""
    return StoredQualities(filled(values[:3])).joined(StoredQualities(filled(values[3:])))


def test_what_was_written_is_read_by_draws_and_by_items(values, stored):
    by_chain = values.transpose(1, 0, 2)
    assert (stored.draws, stored.chains, stored.size) == SHAPE
    assert np.array_equal(stored.rows(1, 6), values[1:6])
    assert np.array_equal(stored.items(4, 9), by_chain[..., 4:9])
    which = np.array([10, 0, 5])
    assert np.array_equal(stored.some_items(which), by_chain[..., which])
    assert np.array_equal(stored.some_draws(np.array([0, 3, 6])), by_chain[:, [0, 3, 6]])
    assert np.array_equal(stored.every_second().rows(0, 3), values[1::2])


@pytest.mark.parametrize("most", [1, 40, 10_000])
def test_blocks_cover_everything_once(stored, most):
    for blocks, size in ((stored.draw_blocks(most), 7), (stored.item_blocks(most), 11)):
        assert [k for start, stop in blocks for k in range(start, stop)] == list(range(size))


def test_the_file_takes_no_room_once_it_is_not_used():
    file = QualityFile(*SHAPE)
    number = file._number
    os.fstat(number)
    del file
    gc.collect()
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(number)


def test_a_full_disk_is_one_line_with_the_way_out(monkeypatch):
    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(quality_file.os, "posix_fallocate", full)
    with pytest.raises(InputError, match=r"need 2\.0 GB .* TMPDIR") as caught:
        QualityFile(1000, 50, 10_000)
    assert "\n" not in str(caught.value)


def test_stored_draws_are_those_in_memory(monkeypatch):
    """Of the same seed: centred, in single precision, and one of a few kept."""
    rng = np.random.default_rng(1)
    first, second = np.triu_indices(30, 1)
    answers = rng.multinomial(1, [0.4, 0.3, 0.3], len(first)).T
    model = BradleyTerry(Counts.of([f"{k:02}" for k in range(30)], first, second, *answers))
    engine = Transport(draws=400, chains=8)
    plain = engine.run(model, SeedSequence(4), no_progress)
    plain = plain.joined(plain.more(50, 1, no_progress)).centred()
    monkeypatch.setattr(stored_draws, "MANY_ITEMS", 29)
    monkeypatch.setattr(stored_draws, "KEPT_NUMBERS", 8 * 30 * 25)
    some = engine.run(model, SeedSequence(4), no_progress)
    some = some.joined(some.more(50, 1, no_progress)).centred()
    kept = np.arange(3, 100, 4)
    assert some.quality.dtype == np.float32
    assert np.allclose(some.quality, plain.quality[:, kept], atol=1e-6)
    assert np.array_equal(some.tie, plain.tie[:, kept])
    assert np.array_equal(some.stats["acceptance_rate"], plain.stats["acceptance_rate"][:, kept])
    whole = some.whole
    assert np.allclose(whole.quality.items(0, 30), plain.quality, atol=1e-6)
    assert np.allclose(whole.level, plain.level, atol=1e-12)
    assert np.array_equal(whole.variance, plain.variance)
    half = some.every_second()
    assert np.array_equal(half.whole.tie, plain.tie[:, 1::2])
    assert np.array_equal(half.quality, whole.quality.items(0, 30)[:, 3::4])
