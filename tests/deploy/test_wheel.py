"""What is released: a wheel and an archive of the source, twice the same, and fit to be used."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
LEAST_VARIABLES = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
WIDE = os.environ | {"COLUMNS": "200"}
VOTES = "winner,loser,tie\n" + "a,b,0\nb,c,0\nc,a,0\na,c,1\nb,a,1\nc,b,0\n" * 3

pytestmark = pytest.mark.slow


def run(*words: object, folder: Path, **options: object) -> subprocess.CompletedProcess[str]:
    """A command that has to succeed."""
    done = subprocess.run(
        [str(word) for word in words], cwd=folder, capture_output=True, text=True, check=False,
        **options,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return done


def built(source: Path, place: Path) -> list[Path]:
    """The archive of the source and the wheel, made from a folder."""
    build = [sys.executable, "-m", "build", "--no-isolation", "--outdir", place]
    run(*build, source, folder=place.parent)
    return sorted(place.iterdir())


@pytest.fixture(scope="module")
def release(tmp_path_factory) -> list[Path]:
    """Wheel and archive of this checkout."""
    return built(ROOT, tmp_path_factory.mktemp("release") / "dist")


def test_the_same_source_gives_the_same_bytes(release, tmp_path):
    """From a copy elsewhere, whose files have other dates."""
    ignored = shutil.ignore_patterns(".git", ".venv*", "__pycache__", ".*_cache")
    copy = Path(shutil.copytree(ROOT, tmp_path / "copy", ignore=ignored, copy_function=shutil.copy))
    again = built(copy, tmp_path / "dist")
    assert [path.name for path in again] == [path.name for path in release]
    wheels = [path for path in (*release, *again) if path.suffix == ".whl"]
    assert wheels[0].read_bytes() == wheels[1].read_bytes()


def test_a_wheel_from_the_archive_is_that_of_the_checkout(release, tmp_path):
    wheel, archive = release
    with tarfile.open(archive) as packed:
        packed.extractall(tmp_path, filter="data")
    source = tmp_path / archive.name.removesuffix(".tar.gz")
    again = next(path for path in built(source, tmp_path / "dist") if path.suffix == ".whl")
    assert again.read_bytes() == wheel.read_bytes()


def test_the_wheel_has_every_file_of_the_package_and_no_other(release):
    with zipfile.ZipFile(release[0]) as wheel:
        packed = {name for name in wheel.namelist() if name.startswith("tiewise/")}
    listed = run("git", "ls-files", "src/tiewise", folder=ROOT).stdout.splitlines()
    there = {path.removeprefix("src/") for path in listed if (ROOT / path).is_file()}
    assert there <= packed
    assert not [name for name in packed - there if "__pycache__" in name or name.endswith(".nbc")]


def test_the_index_would_take_it(release):
    run(sys.executable, "-m", "twine", "check", "--strict", *release, folder=ROOT, env=WIDE)
    run(sys.executable, "-m", "check_wheel_contents", release[0], folder=ROOT)


@pytest.mark.thorough
def test_the_wheel_alone_turns_a_file_into_a_posterior(release, tmp_path):
    """In an environment of its own, with the core and without this checkout."""
    run(sys.executable, "-m", "venv", tmp_path / "env", folder=tmp_path)
    python = tmp_path / "env" / "bin" / "python"
    run(python, "-m", "pip", "install", "--quiet", release[0], folder=tmp_path)
    (tmp_path / "votes.csv").write_text(VOTES, encoding="utf-8")
    tiewise = [python.with_name("tiewise")]
    done = run(*tiewise, "fit", "votes.csv", "--seed", 1, folder=tmp_path, env=LEAST_VARIABLES)
    assert "pip install 'tiewise[report]'" in done.stderr
    assert (tmp_path / "votes-results" / "posterior.nc").is_file()
    assert not (tmp_path / "votes-results" / "report.html").exists()
    where = run(python, "-c", "import tiewise; print(tiewise.__file__)", folder=tmp_path).stdout
    assert where.startswith(str(tmp_path))
    refused = subprocess.run(
        [*tiewise, "fit", "votes.csv", "--areas", "map.gpkg", "--out", "other"],
        cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert refused.returncode == 2
    assert refused.stderr.splitlines()[-1] == (
        "tiewise: a map needs geopandas, pyogrio and shapely: pip install 'tiewise[maps]'"
    )
