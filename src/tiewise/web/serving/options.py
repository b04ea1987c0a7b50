"""How the site is served: limits on requests, and where its workers share their counts."""

from __future__ import annotations

import json
import os
from functools import cache
from typing import NamedTuple

VARIABLE = "TIEWISE_SERVING"
"""The environment variable that hands these options to workers, which are new processes."""


class UploadLimit(NamedTuple):
    """The limit of bodies sent to paths that end so, in place of the one for all others."""

    path: str
    max_bytes: int
    seconds: float


UPLOADS = (
    UploadLimit("/chunk", 8 * 1024 * 1024, 120),
    UploadLimit("/files", 8 * 1024 * 1024 * 1024, 4 * 3600),
)
"""Pages that take files: part by part, and from browsers without scripts whole."""


class BodyLimit(NamedTuple):
    """So many bytes in so many seconds."""

    max_bytes: int
    seconds: float


class HttpLimits(NamedTuple):
    """What the site takes from the network before it answers."""

    max_header_bytes: int = 32 * 1024
    header_seconds: float = 10
    max_body_bytes: int = 1024 * 1024
    body_seconds: float = 30
    max_connections: int = 1000
    """At once, by all workers together."""

    def body_limit(self, path: str) -> BodyLimit:
        """The limit of a body sent to a path."""
        for upload in UPLOADS:
            if path.endswith(upload.path):
                return BodyLimit(upload.max_bytes, upload.seconds)
        return BodyLimit(self.max_body_bytes, self.body_seconds)


class ServingOptions(NamedTuple):
    """What a worker knows of how it is run; the defaults are those of a site without `serve`."""

    limits: HttpLimits = HttpLimits()
    counters: str = ""
    """The file in which workers share their counts; "" where there is none."""
    log_format: str = "plain"
    min_free_bytes: int = 64 * 1024 * 1024
    """Free space below which the site is not well."""

    def export(self) -> None:
        """Hand these options to this process and to workers that it starts."""
        os.environ[VARIABLE] = json.dumps(self._asdict() | {"limits": self.limits._asdict()})
        serving_options.cache_clear()


@cache
def serving_options() -> ServingOptions:
    """The options that `serve` exported, or the defaults."""
    values = json.loads(os.environ.get(VARIABLE, "{}"))
    if "limits" in values:
        values["limits"] = HttpLimits(**values["limits"])
    return ServingOptions(**values)


OTHER_FILES = 256
"""Files that a worker has open besides connections: databases, images, libraries."""


def allowed_connections(connections: int) -> int:
    """As many connections as the system's limit of open files allows, which is raised if it can."""
    try:
        import resource
    except ImportError:  # Windows counts otherwise
        return connections
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = connections + OTHER_FILES
    if soft != resource.RLIM_INFINITY and soft < needed:
        soft = needed if hard == resource.RLIM_INFINITY else min(needed, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    return (
        connections
        if soft == resource.RLIM_INFINITY
        else min(connections, max(soft - OTHER_FILES, 1))
    )
