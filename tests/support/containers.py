"""Images and containers for tests, made with podman from Debian's packages and PyPI's."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).parents[2]
SITE = "localhost/tiewise-test"
BASE = f"{SITE}-base"
PACKAGES = "python3,python3-venv,ca-certificates,postgresql,caddy"
PROGRAMS = ("podman", "runc", "mmdebstrap", "iptables")
WITHOUT_SYSTEMD = """
[containers]
default_ulimits = ["nofile=1024:1024", "nproc=1024:1024"]
[engine]
runtime = "runc"
cgroup_manager = "cgroupfs"
events_logger = "file"
"""


def why_not() -> str:
    """Why there can be no containers here; empty where there can."""
    missing = [name for name in PROGRAMS if shutil.which(name) is None]
    if missing:
        return f"no {', '.join(missing)} here (docs/tests.md says what to install)"
    if importlib.util.find_spec("podman_compose") is None:
        return "no podman-compose here (pip install podman-compose)"
    return "" if os.geteuid() == 0 else "containers of this test need root"


class Podman:
    """Podman with what it needs on this machine."""

    def __init__(self, folder: Path) -> None:
        self.environment = dict(os.environ)
        if not Path("/run/systemd/system").exists():
            settings = folder / "containers.conf"
            settings.write_text(WITHOUT_SYSTEMD)
            self.environment["CONTAINERS_CONF"] = str(settings)

    def run(self, *words: str, **more: object) -> str:
        """Run `podman` and return what it prints."""
        return self.call(["podman", *words], **more)

    def call(self, words: Sequence[str], *, cwd: Path = ROOT, text: str = "") -> str:
        """Run a program and return what it prints; where it fails, say what it said."""
        done = subprocess.run(
            words, cwd=cwd, input=text, env=self.environment, capture_output=True,
            encoding="utf-8", check=False,
        )  # fmt: skip
        assert done.returncode == 0, f"{' '.join(words)}\n{done.stdout}\n{done.stderr}"
        return done.stdout

    def has(self, kind: str, name: str) -> bool:
        """Whether there is an image, a secret or a volume of this name."""
        done = subprocess.run(
            ["podman", kind, "inspect", name], env=self.environment, capture_output=True
        )
        return done.returncode == 0


def build_images(podman: Podman, folder: Path) -> dict[str, str]:
    """The images of compose.yaml, by its variables; the base is made once and kept."""
    if not podman.has("image", BASE):
        make_base(podman, folder)
    wheels = download_wheels(podman, folder)
    files = {
        "SITE_IMAGE": (SITE, "deploy/Containerfile"),
        "DATABASE_IMAGE": (f"{SITE}-database", "deploy/debian/database.Containerfile"),
        "PROXY_IMAGE": (f"{SITE}-proxy", "deploy/debian/proxy.Containerfile"),
    }
    for name, file in files.values():
        podman.run(
            "build", "--isolation=chroot", "--format=docker", f"--build-arg=BASE={BASE}", *wheels,
            f"--tag={name}", f"--file={file}", ".",
        )  # fmt: skip
    return {variable: name for variable, (name, _) in files.items()}


def make_base(podman: Podman, folder: Path) -> None:
    """A Debian with Python, PostgreSQL and Caddy."""
    archive = folder / "base.tar"
    podman.call(
        ["mmdebstrap", "--quiet", "--variant=minbase", f"--include={PACKAGES}", "bookworm",
         str(archive)]
    )  # fmt: skip
    podman.run("import", "--quiet", str(archive), BASE)
    archive.unlink()


def download_wheels(podman: Podman, folder: Path) -> list[str]:
    """What the image installs, fetched with this machine's pip; the options that bring it in."""
    about = tomllib.loads((ROOT / "pyproject.toml").read_text())
    extras = about["project"]["optional-dependencies"]
    lines = (ROOT / "deploy" / "Containerfile").read_text()
    (named,) = re.findall(r"\.whl\)\[([\w,]+)\]", lines)
    libraries = [library for extra in [*named.split(","), "gibbs"] for library in extras[extra]]
    version = podman.run("run", "--rm", "--network=none", BASE, "python3", "--version").split()[1]
    podman.call(
        [sys.executable, "-m", "pip", "download", "--quiet", f"--python-version={version}",
         "--only-binary=:all:", f"--dest={folder / 'wheels'}", *about["build-system"]["requires"],
         *about["project"]["dependencies"], *libraries]
    )  # fmt: skip
    (folder / "pip.conf").write_text("[global]\nno-index = true\nfind-links = /wheels\n")
    return [
        f"--volume={folder / 'wheels'}:/wheels:ro",
        f"--volume={folder / 'pip.conf'}:/etc/pip.conf:ro",
    ]
