"""A TCP proxy before PostgreSQL that can be cut: `python -m benchmarks.cut_proxy PORT SOCKET`.

SIGUSR1 cuts it: nothing passes, nothing is closed, and new connections get no answer. SIGUSR2
mends it: what was open is reset, as by a router that has forgotten it, and new connections pass.
"""

from __future__ import annotations

import asyncio
import signal
import socket
import struct
import sys

RESET = struct.pack("ii", 1, 0)
"""SO_LINGER with no time at all: closing sends a reset."""


class CutProxy:
    """Passes bytes between clients and a server's socket, unless it is cut."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._open = asyncio.Event()
        self._open.set()
        self._writers: set[asyncio.StreamWriter] = set()

    def cut(self) -> None:
        """Let nothing pass."""
        self._open.clear()

    def mend(self) -> None:
        """Reset what was open, and let new connections pass."""
        for writer in list(self._writers):
            _reset(writer)
        self._open.set()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One connection, both ways."""
        self._writers.add(writer)
        try:
            await self._open.wait()
            server_reader, server_writer = await asyncio.open_unix_connection(self._path)
        except OSError:  # the server is down
            self._close(writer)
            return
        self._writers.add(server_writer)
        ways = (self._pass(reader, server_writer), self._pass(server_reader, writer))
        await asyncio.gather(*ways)

    async def _pass(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while data := await reader.read(65536):
                await self._open.wait()
                writer.write(data)
                await writer.drain()
        except OSError:
            pass
        finally:
            await self._open.wait()
            self._close(writer)

    def _close(self, writer: asyncio.StreamWriter) -> None:
        self._writers.discard(writer)
        writer.close()


def _reset(writer: asyncio.StreamWriter) -> None:
    end = writer.get_extra_info("socket")
    if end is not None and end.family != socket.AF_UNIX:
        end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
    writer.transport.abort()


async def main() -> None:
    """Pass everything on until it is killed."""
    proxy = CutProxy(sys.argv[2])
    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGUSR1, proxy.cut)
    loop.add_signal_handler(signal.SIGUSR2, proxy.mend)
    server = await asyncio.start_server(proxy.serve, "127.0.0.1", int(sys.argv[1]))
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main())
