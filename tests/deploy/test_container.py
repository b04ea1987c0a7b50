"""The image and the compose file as an operator uses them: built, run, restarted, restored."""

from __future__ import annotations

import json
import os
import re
import secrets
import shutil
import socket
import ssl
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import httpx2
import pytest

from support.containers import ROOT, SITE, Podman, build_images, why_not
from support.form_browser import Visitor
from support.site import free_port

NAME = "study.test"
SECRETS = ("tiewise-database-address", "tiewise-database-password")
ITEMS = "name\n" + "\n".join(("ash", "birch", "cedar", "elm", "hazel", "larch", "oak", "yew"))
USER = 10001
ADDRESS = re.compile(r"\b\d+\.\d+\.\d+\.\d+\b")

pytestmark = [
    pytest.mark.slow,
    pytest.mark.thorough,
    pytest.mark.skipif(bool(why_not()), reason=why_not() or "-"),
]


class Deployment:
    """A copy of deploy/ with an .env of its own, and what podman makes of it."""

    def __init__(self, podman: Podman, folder: Path, images: dict[str, str]) -> None:
        self.podman, self.folder, self.project = podman, folder, f"tiewise-test-{os.getpid()}"
        self.https, self.http = free_port(), free_port()
        settings = images | {
            "SITE_NAME": NAME, "CERTIFICATES": "internal", "STUDY": "trees", "BACKUP_EVERY": "1m",
            "BACKUP_KEEP": "2", "HTTP_PORT": str(self.http), "HTTPS_PORT": str(self.https),
        }  # fmt: skip
        lines = [f"{name}={value}\n" for name, value in settings.items()]
        (folder / ".env").write_text("".join(lines))

    def compose(self, *words: str) -> str:
        """Run podman-compose where the compose file is."""
        program = [sys.executable, "-m", "podman_compose", "-p", self.project]
        return self.podman.call([*program, *words], cwd=self.folder)

    def tiewise(self, *words: str, mount: str = "") -> str:
        """A command of tiewise in a container of its own, with the site's settings."""
        more = ["-v", mount] if mount else []
        return self.compose("run", "--rm", "--no-deps", "-T", *more, "site", *words)

    def on_site(self, *words: str) -> str:
        """A command in the container of the site."""
        return self.compose("exec", "-T", "site", *words)

    def sql(self, statement: str, database: str = "tiewise") -> str:
        """What the database answers."""
        words = ["psql", "-U", "tiewise", "-d", database, "-tAc", statement]
        return self.compose("exec", "-T", "database", *words).strip()

    def judgements(self) -> int:
        """How many judgements the database holds."""
        return int(self.sql("SELECT count(*) FROM judgements"))

    def container(self, service: str) -> str:
        """The name of a service's container."""
        return f"{self.project}_{service}_1"

    def is_ready(self) -> bool:
        """Whether the health check of the image says so."""
        try:
            self.podman.run("healthcheck", "run", self.container("site"))
        except AssertionError:
            return False
        return True

    def backups(self) -> list[Path]:
        """The backups, oldest first."""
        return sorted((self.folder / "backups").glob("trees-*.tar.gz.age"))


def patiently(test: Callable[[], object], seconds: float = 180) -> None:
    """Wait until something is so."""
    until = time.monotonic() + seconds
    while not test():
        assert time.monotonic() < until, f"not so within {seconds:g} s"
        time.sleep(1)


@pytest.fixture(scope="module")
def deployment(tmp_path_factory) -> Iterator[Deployment]:
    """The site of a study, as docs/deployment.md sets it up."""
    folder = tmp_path_factory.mktemp("container")
    podman = Podman(folder)
    if any(podman.has("secret", name) for name in SECRETS):
        pytest.skip("podman already keeps the secrets of a site here")
    images = build_images(podman, folder)
    shutil.copytree(ROOT / "deploy", folder / "deploy")
    site = Deployment(podman, folder / "deploy", images)
    try:
        set_up(site)
        site.compose("up", "-d")
        patiently(site.is_ready)
        yield site
    finally:
        with suppress(AssertionError):
            print(site.compose("logs"))  # shown where a test fails
            site.compose("down", "--volumes")
        for name in filter(lambda name: podman.has("secret", name), SECRETS):
            podman.run("secret", "rm", name)


def set_up(site: Deployment) -> None:
    """Secrets, the key of backups, and a new study."""
    password = secrets.token_hex(24)
    address = f"postgresql://tiewise:{password}@database/tiewise"
    for name, value in zip(SECRETS, (address, password), strict=True):
        site.podman.run("secret", "create", name, "-", text=value)
    for name in ("studies", "backups", "key"):
        (site.folder / name).mkdir()
        os.chown(site.folder / name, USER, USER)
    (site.folder / "key" / "items.csv").write_text(ITEMS)
    image, key = SITE, f"{site.folder / 'key'}:/key"
    site.podman.run("run", "--rm", "-v", key, image, "backup-key", "/key/backup-key")
    shutil.copy(site.folder / "key" / "backup-key.pub", site.folder / "backup-key.pub")
    (site.folder / "backup-key.pub").chmod(0o644)
    site.podman.run(
        "run", "--rm", "-v", key, "-v", f"{site.folder / 'studies'}:/studies", image,
        "new", "trees", "--items", "/key/items.csv", "--question", "Which tree is taller?",
    )  # fmt: skip


@pytest.fixture
def visitor(deployment, tmp_path, monkeypatch) -> Visitor:
    """Somebody elsewhere, who types the site's name."""
    connect = socket.create_connection

    def to_the_proxy(address, *more, **options):
        ports = {443: deployment.https, 80: deployment.http}
        there = ("127.0.0.1", ports[address[1]]) if address[0] == NAME else address
        return connect(there, *more, **options)

    monkeypatch.setattr(socket, "create_connection", to_the_proxy)
    somebody = Visitor(None)
    somebody.client = https_client(deployment, tmp_path / "root.crt")
    return somebody


def https_client(deployment: Deployment, authority: Path) -> httpx2.Client:
    """A browser's part in HTTP, which trusts the proxy's own authority."""
    root = "/data/caddy/pki/authorities/local/root.crt"
    deployment.podman.run("cp", f"{deployment.container('proxy')}:{root}", str(authority))
    return httpx2.Client(
        base_url=f"https://{NAME}", verify=ssl.create_default_context(cafile=authority),
        follow_redirects=True, timeout=30,
        headers={"Origin": f"https://{NAME}", "Sec-Fetch-Site": "same-origin"},
    )  # fmt: skip


def test_a_site_is_judged_restarted_lost_and_restored(deployment, visitor, tmp_path):
    """One test: several would be given to several processes, each with containers of its own."""
    check_confinement(deployment)
    check_loops(deployment)
    judge_through_tls(deployment, visitor)
    restart(deployment, visitor)
    back_up(deployment)
    visitor.judge("left")  # after the backup: lost with the machine
    lose_and_restore(deployment)
    cookies = visitor.client.cookies  # still signed with the study's key
    visitor.client = https_client(deployment, tmp_path / "new-root.crt")
    visitor.client.cookies = cookies
    visitor.get("/pair")
    visitor.judge("left")
    assert deployment.judgements() == 11
    check_logs(deployment)


def check_confinement(deployment: Deployment) -> None:
    """It is nobody, may do nothing, and cannot write to its root."""
    assert deployment.on_site("id", "-u").strip() == str(USER)
    status = deployment.on_site("cat", "/proc/1/status")
    assert "CapEff:\t0000000000000000" in status
    assert "NoNewPrivs:\t1" in status
    root = deployment.on_site("sh", "-c", "touch /opt/tiewise/x /usr/x /etc/x 2>&1 || true")
    assert root.count("Read-only file system") == 3


def check_loops(deployment: Deployment) -> None:
    """A fit compiles nothing: the image has the loops."""
    loops = "find /tmp/cache/numba -type f | sort; "
    fit = (
        "cd /tmp && tiewise simulate made --county 12 --comparisons 90 --seed 2 >/dev/null && "
        "tiewise fit made/comparisons.csv --areas made/areas.gpkg --out fitted 2>&1; "
    )
    before, output, after = deployment.on_site(
        "sh", "-c", f"{loops} echo ---; {fit} echo ---; {loops}"
    ).split("---\n")
    assert "Compiling" not in output
    assert before == after
    assert ".nbc" in before


def judge_through_tls(deployment: Deployment, visitor: Visitor) -> None:
    """Sign up and answer, with https alone."""
    plain = httpx2.get(f"http://{NAME}/", follow_redirects=False)
    assert (plain.status_code, plain.headers["location"]) == (308, f"https://{NAME}/")

    visitor.get("/")
    assert visitor.answer.headers["strict-transport-security"]
    visitor.join()
    for _ in range(6):
        visitor.judge("left")
    assert visitor.client.cookies.jar
    assert all(cookie.secure for cookie in visitor.client.cookies.jar)
    assert deployment.judgements() == 6


def restart(deployment: Deployment, visitor: Visitor) -> None:
    """Judges go on where they were."""
    for words in (["stop"], ["down"]):  # as for a restart of the machine, and for a new version
        deployment.compose(*words)
        deployment.compose("up", "-d")
        patiently(deployment.is_ready)
        visitor.get("/pair")
        visitor.judge("right")
        visitor.judge("tie")
    assert deployment.judgements() == 10


def back_up(deployment: Deployment) -> None:
    """Backups are made by the schedule, and by hand; what is in them cannot be read."""
    there = set(deployment.backups())
    patiently(lambda: set(deployment.backups()) - there)  # by the schedule
    assert 1 <= len(deployment.backups()) <= 2
    assert all(
        path.read_bytes().startswith(b"age-encryption.org/") for path in deployment.backups()
    )
    words = ("backup", "/studies/trees", "--out", "/backups/by-hand.age")
    assert "Backed up" in deployment.on_site("tiewise", *words)


def lose_and_restore(deployment: Deployment) -> None:
    """Database, certificates and study are gone; the backup and its key bring the study back."""
    deployment.compose("down", "--volumes")
    shutil.rmtree(deployment.folder / "studies" / "trees")
    deployment.compose("up", "-d", "database")
    patiently(lambda: is_up(deployment))
    restored = deployment.tiewise(
        "restore", "/backups/by-hand.age", "/studies/trees", "--key-file", "/key/backup-key",
        mount=f"{deployment.folder / 'key'}:/key:ro",
    )  # fmt: skip
    assert "10 judgements" in restored
    deployment.compose("up", "-d")
    patiently(deployment.is_ready)
    assert deployment.judgements() == 10


def is_up(deployment: Deployment) -> bool:
    """Whether the database answers."""
    try:
        return deployment.sql("SELECT 1") == "1"
    except AssertionError:
        return False


def check_logs(deployment: Deployment) -> None:
    """Lines of JSON without addresses."""
    logs = f"podman logs {deployment.container('site')} 2>&1"
    lines = deployment.podman.call(["sh", "-c", logs]).splitlines()
    assert [json.loads(line)["message"] for line in lines]
    assert not [line for line in lines if ADDRESS.search(line)]
