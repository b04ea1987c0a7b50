"""HTTP with limits: how much may come in, how long it may take, how many may be connected.

uvicorn has one of these for each connection. Whoever goes beyond a limit gets a plain answer where
one can still be sent, and the connection ends.
"""

from __future__ import annotations

from asyncio import Protocol, TimerHandle, Transport
from http import HTTPStatus
from typing import Any, ClassVar, NamedTuple

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from tiewise.web.serving.counters import CONNECTIONS, REFUSED, shared_counters
from tiewise.web.serving.options import BodyLimit, serving_options

SEND_SECONDS = 30.0
"""Seconds after which a client that reads nothing of its answer is given up."""
LINGER_SECONDS, LINGER_BYTES = 1.0, 2 * 1024 * 1024
"""For a refused client to read the answer; so much of what it still sends is thrown away."""
MAX_LINGERING = 100
MAX_PIPELINED = 16
"""Requests on one connection that wait for the answer to an earlier one."""


class Refusal(NamedTuple):
    """An answer that the server itself gives, and the name under which it is counted."""

    counter: str
    status: int
    message: str

    def response(self) -> bytes:
        """What goes over the wire."""
        body = f"{self.message}\n".encode()
        phrase = HTTPStatus(self.status).phrase
        retry = "retry-after: 1\r\n" if self.status == 503 else ""
        head = (
            f"HTTP/1.1 {self.status} {phrase}\r\ncontent-type: text/plain; charset=utf-8\r\n"
            f"content-length: {len(body)}\r\ncache-control: no-store\r\n"
            f"x-content-type-options: nosniff\r\n{retry}connection: close\r\n\r\n"
        )
        return head.encode() + body


BAD_REQUEST = Refusal("bad_request", 400, "This is no HTTP request.")
HEADERS_TOO_LARGE = Refusal("headers_too_large", 431, "The headers of this request are too large.")
HEADERS_TOO_SLOW = Refusal("headers_too_slow", 408, "This request took too long to arrive.")
BODY_TOO_LARGE = Refusal("body_too_large", 413, "This request is too large.")
BODY_TOO_SLOW = Refusal("body_too_slow", 408, "This request took too long to arrive.")
TOO_MANY_CONNECTIONS = Refusal(REFUSED, 503, "Too many connections; try again in a moment.")


class Refused(Exception):
    """Raised inside a callback of the parser, which then parses no further."""


class LimitedHttpProtocol(HttpToolsProtocol):
    """A connection of uvicorn's, with the limits of `ServingOptions`."""

    lingering: ClassVar[set[Protocol]] = set()

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._limits, self._counters = serving_options().limits, shared_counters()
        self._refusal: Refusal | None = None
        self._reason = BAD_REQUEST
        """Why the parser stopped."""
        self._counted = self._in_body = False
        self._received = self._body_bytes = 0
        """Bytes since this part of the request began: its headers, or its body."""
        self._body_limit = BodyLimit(0, 0)
        self._deadline: TimerHandle | None = None
        self._output_check: TimerHandle | None = None
        self._unsent = 0

    # The connection.

    def connection_made(self, transport: Transport) -> None:  # type: ignore[override]
        """Take the connection, or refuse it where there are too many."""
        if self._counters.total(CONNECTIONS) >= self._limits.max_connections:
            self.transport = transport
            self._refuse(TOO_MANY_CONNECTIONS)
            return
        super().connection_made(transport)
        self._counters.add(CONNECTIONS)
        self._counted = True
        self._set_deadline(self._limits.header_seconds, HEADERS_TOO_SLOW)

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop all clocks, and tell the app."""
        for timer in (self._deadline, self._output_check):
            if timer is not None:
                timer.cancel()
        self.lingering.discard(self)
        if self._counted:
            self._counters.add(CONNECTIONS, -1)
            super().connection_lost(exc)

    # What comes in.

    def data_received(self, data: bytes) -> None:
        """Parse what came, and refuse what is too much."""
        self._received += len(data)
        if self._refusal is not None:
            if self._received > LINGER_BYTES:
                self.transport.abort()
            return
        super().data_received(data)
        if self._refusal is not None or self.transport.is_closing():
            return
        # Bytes as they came: sizes of chunks and trailers are more than the body itself.
        framed = self._body_limit.max_bytes + self._limits.max_header_bytes
        if self._in_body and self._received > framed:
            self._refuse(BODY_TOO_LARGE)
        elif not self._in_body and self._received > self._limits.max_header_bytes:
            self._refuse(HEADERS_TOO_LARGE)
        elif not self._in_body and self._received and self._deadline is None:
            self._set_deadline(self._limits.header_seconds, HEADERS_TOO_SLOW)

    def on_header(self, name: bytes, value: bytes) -> None:
        """A header; what comes after the body is none."""
        if not self._in_body:
            super().on_header(name, value)

    def on_headers_complete(self) -> None:
        """Start the request, unless its headers or what they announce is too large."""
        size = len(self.url) + sum(len(name) + len(value) + 4 for name, value in self.headers)
        if size > self._limits.max_header_bytes or len(self.pipeline) >= MAX_PIPELINED:
            self._stop(HEADERS_TOO_LARGE)
        path = self.url.partition(b"?")[0].decode("ascii", "replace")
        self._body_limit = self._limits.body_limit(path)
        if _content_length(self.headers) > self._body_limit.max_bytes:
            self._stop(BODY_TOO_LARGE)
        super().on_headers_complete()
        self._in_body, self._received, self._body_bytes = True, 0, 0
        self._set_deadline(self._body_limit.seconds, BODY_TOO_SLOW)

    def on_body(self, body: bytes) -> None:
        """Hand a part of the body on."""
        self._body_bytes += len(body)
        if self._body_bytes > self._body_limit.max_bytes:
            self._stop(BODY_TOO_LARGE)
        super().on_body(body)

    def on_message_complete(self) -> None:
        """The request is here; the next may follow."""
        super().on_message_complete()
        self._in_body, self._received = False, 0
        self._cancel_deadline()

    # Refusing.

    def _stop(self, refusal: Refusal) -> None:
        """Stop the parser; it reports an error, which `send_400_response` answers."""
        self._reason = refusal
        raise Refused

    def send_400_response(self, msg: str) -> None:
        """Answer what the parser would not take."""
        self._refuse(self._reason)

    def _unsupported_upgrade_warning(self) -> None:
        """A client that asks for another protocol gets its answer in this one."""

    def _refuse(self, refusal: Refusal) -> None:
        """Answer where that is still possible, and end the connection."""
        self._refusal, self._received = refusal, 0
        self._counters.add(refusal.counter)
        self._cancel_deadline()
        writable = self._can_answer()
        if self._counted:
            self._unset_keepalive_if_required()
            self._tell_app()
            self.flow.resume_reading()
        if not writable or len(self.lingering) >= MAX_LINGERING:
            self.transport.abort()
            return
        self.transport.write(refusal.response())
        if self.transport.can_write_eof():
            self.transport.write_eof()
        # Closed at once, with bytes unread, the answer would be lost on its way.
        self.lingering.add(self)
        self.loop.call_later(LINGER_SECONDS, self.transport.abort)

    def _can_answer(self) -> bool:
        """Whether no other answer is under way on this connection."""
        if self.transport.is_closing() or self.pipeline:
            return False
        if self.cycle is None or self.cycle.response_complete:
            return True
        return self._in_body and not self.cycle.response_started

    def _tell_app(self) -> None:
        """To the app, the client is gone."""
        if self.cycle is not None and not self.cycle.response_complete:
            self.cycle.disconnected = True
            self.cycle.message_event.set()

    def _set_deadline(self, seconds: float, refusal: Refusal) -> None:
        self._cancel_deadline()
        self._deadline = self.loop.call_later(seconds, self._expire, seconds, refusal)

    def _cancel_deadline(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _expire(self, seconds: float, refusal: Refusal) -> None:
        self._deadline = None
        if self.flow.read_paused:  # it is we who do not read
            self._set_deadline(seconds, refusal)
        elif self._received == 0 and not self._in_body:
            # A browser connects ahead of need; it would take an answer for that to its request.
            self._counters.add(refusal.counter)
            self.transport.close()
        else:
            self._refuse(refusal)

    # What goes out.

    def pause_writing(self) -> None:
        """The client reads more slowly than we write; see that it reads at all."""
        super().pause_writing()
        self._watch_output()

    def resume_writing(self) -> None:
        """The client has read."""
        super().resume_writing()
        if self._output_check is not None:
            self._output_check.cancel()
            self._output_check = None

    def on_response_complete(self) -> None:
        """The answer is written; a part of it may still wait to be read."""
        super().on_response_complete()
        if self.transport.get_write_buffer_size() > 0:
            self._watch_output()

    def _watch_output(self) -> None:
        if self._output_check is None:
            self._unsent = self.transport.get_write_buffer_size()
            self._output_check = self.loop.call_later(SEND_SECONDS, self._check_output)

    def _check_output(self) -> None:
        self._output_check = None
        unsent = self.transport.get_write_buffer_size()
        if 0 < unsent < self._unsent:
            self._watch_output()
        elif unsent > 0:
            self._counters.add("response_not_read")
            self.transport.abort()


def _content_length(headers: list[tuple[bytes, bytes]]) -> int:
    lengths = [value for name, value in headers if name == b"content-length"]
    return max((int(value) for value in lengths if value.isdigit()), default=0)
