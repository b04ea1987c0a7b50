"""How soon the demonstration shows its first picture: `python -m benchmarks.demo`.

From the start of `tiewise demo` to an overview with a picture of the county; three times, of which
the first may compile. Prints seconds.
"""

from __future__ import annotations

import re
import signal
import socket
import subprocess
import time

import httpx2

from benchmarks.site import TIEWISE
from benchmarks.site_report import token

RUNS, LONGEST = 3, 300.0
LINK = re.compile(r"http://\S+?(/county/sign-in/[0-9a-f]{32})")


def main() -> None:
    """Start the demonstration several times."""
    for _ in range(RUNS):
        print(f"{seconds_to_first_picture():.1f} s", flush=True)


def seconds_to_first_picture() -> float:
    """From the start to an overview that is made from judgements."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    begun = time.perf_counter()
    demo = subprocess.Popen(
        [TIEWISE, "demo", "--no-browser", "--port", str(port)],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    )  # fmt: skip
    try:
        assert demo.stdout is not None
        link = next(match[1] for line in demo.stdout if (match := LINK.search(line)))
        transport = httpx2.HTTPTransport(retries=100)
        with httpx2.Client(
            base_url=f"http://127.0.0.1:{port}", follow_redirects=True, transport=transport,
            timeout=60,
        ) as client:  # fmt: skip
            client.post(link, data={"token": token(client.get(link))})
            while time.perf_counter() - begun < LONGEST:
                if 'data-snapshot="yes"' in client.get("/county/watch").text:
                    return time.perf_counter() - begun
                time.sleep(0.1)
        raise TimeoutError(f"no picture in {LONGEST:.0f} s")
    finally:
        demo.send_signal(signal.SIGINT)
        demo.communicate(timeout=60)


if __name__ == "__main__":
    main()
