"""The explorer's server: one page and one question, on this machine only, for whoever knows the token.

Any page in the same browser can send requests to 127.0.0.1, so a request is served only if its path starts with the
token, its Host is ours (against names rebound to this address) and its Origin, where it has one, is ours as well.
Files are served from a table made at the start; no path is ever looked up on disk.
"""

from __future__ import annotations

import json
import secrets
import sys
from collections.abc import Callable
from contextlib import suppress
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from io import BufferedReader, RawIOBase
from socket import SHUT_RDWR, socket
from socketserver import TCPServer
from threading import BoundedSemaphore, Lock
from time import monotonic
from typing import Any

from .handle import handle
from .page import page_files

BODY_LIMIT = 1 << 23
"""The longest question, in bytes."""

LINES = 64
"""The most connections at a time; a browser has six. For more, the oldest without the token is hung up on."""

EVICTION_SECONDS = 1.0
"""How long a new connection waits for the line of one that was hung up on."""

PATIENCE = 10.0
"""The seconds in which a request must have come in."""

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)


class Explorer(ThreadingHTTPServer):
    """The server; ``url`` is where its page is."""

    daemon_threads = True
    request_queue_size = LINES

    def __init__(self, port: int = 0, answer: Callable[[Any], dict[str, Any]] = handle) -> None:
        self.token = secrets.token_urlsafe(16)
        self.files = page_files()
        self.answer = answer
        self.free_lines = BoundedSemaphore(LINES)
        self._strangers: dict[socket, None] = {}
        self._lock = Lock()
        super().__init__(("127.0.0.1", port), _Request)
        self.hosts = tuple([f"{name}:{self.server_port}" for name in ("127.0.0.1", "localhost")])

    def server_bind(self) -> None:
        """As a plain server does: without asking the network for this machine's name."""
        TCPServer.server_bind(self)
        self.server_name, self.server_port = self.socket.getsockname()

    def process_request(self, request: Any, client_address: Any) -> None:
        if self.free_lines.acquire(blocking=False) or self._evict_stranger():
            with self._lock:
                self._strangers[request] = None
            super().process_request(request, client_address)
        else:
            self.shutdown_request(request)

    def _evict_stranger(self) -> bool:
        """Hang up on the oldest connection that has not shown the token; whether that gave a line."""
        with self._lock:
            oldest = next(iter(self._strangers), None)
            if oldest is None:
                return False
            del self._strangers[oldest]
            with suppress(OSError):
                oldest.shutdown(SHUT_RDWR)
        return self.free_lines.acquire(timeout=EVICTION_SECONDS)

    def trust(self, request: Any) -> None:
        """Keep a connection that has shown the token."""
        with self._lock:
            self._strangers.pop(request, None)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        try:
            super().process_request_thread(request, client_address)
        finally:
            self.trust(request)
            self.free_lines.release()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A browser that hangs up is no error; anything else is told as the library's mistake, here and to the page."""
        error = sys.exception()
        if error is not None and not isinstance(error, ConnectionError | TimeoutError):
            sys.excepthook(type(error), error, error.__traceback__)
            with suppress(OSError):
                request.sendall(b"HTTP/1.1 500 Internal Server Error\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")

    @property
    def url(self) -> str:
        return f"http://{self.hosts[0]}/{self.token}/"


class _Incoming(RawIOBase):
    """What a browser sends, until a deadline: a byte now and then does not keep a line open."""

    deadline = 0.0

    def __init__(self, connection: socket) -> None:
        self._connection = connection

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        self._connection.settimeout(max(self.deadline - monotonic(), 0.001))
        return self._connection.recv_into(buffer)


class _Request(BaseHTTPRequestHandler):
    server: Explorer
    server_version = "relayout"
    sys_version = ""
    protocol_version = "HTTP/1.1"
    default_request_version = "HTTP/1.0"
    disable_nagle_algorithm = True
    timeout = PATIENCE

    def setup(self) -> None:
        super().setup()
        self.incoming = _Incoming(self.connection)
        self.rfile = BufferedReader(self.incoming)

    def handle_one_request(self) -> None:
        self.incoming.deadline = monotonic() + self.timeout
        super().handle_one_request()
        self.connection.settimeout(self.timeout)

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """What the standard library refuses is refused as all else is."""
        self._refuse(HTTPStatus(code))

    def do_GET(self) -> None:
        path = self._path()
        if path is None:
            return
        if self.headers.get("Content-Length", "0") != "0" or "Transfer-Encoding" in self.headers:
            self._refuse(HTTPStatus.BAD_REQUEST)
            return
        found = self.server.files.get(path)
        if found is None:
            self._refuse(HTTPStatus.NOT_FOUND)
        else:
            self._send(HTTPStatus.OK, *found)

    def do_POST(self) -> None:
        path = self._path()
        if path is None:
            return
        if path != "handle":
            self._refuse(HTTPStatus.NOT_FOUND if path not in self.server.files else HTTPStatus.METHOD_NOT_ALLOWED)
            return
        body = self._body()
        if body is None:
            return
        try:
            question = json.loads(body)
        except (ValueError, RecursionError):
            self._refuse(HTTPStatus.BAD_REQUEST)
            return
        self._send(HTTPStatus.OK, "application/json", json.dumps(self.server.answer(question)).encode())

    def __getattr__(self, name: str) -> Any:
        """Every other method is refused as one."""
        if name.startswith("do_"):
            return lambda: self._refuse(HTTPStatus.METHOD_NOT_ALLOWED)
        raise AttributeError(name)

    def _path(self) -> str | None:
        """What comes behind the token; None where the request was refused."""
        own = self.server.hosts
        hosts, origins = self.headers.get_all("Host", []), self.headers.get_all("Origin", [])
        if len(hosts) != 1 or hosts[0] not in own or not {*origins} <= {f"http://{name}" for name in own}:
            self._refuse(HTTPStatus.FORBIDDEN)
            return None
        token, slash, path = self.path.removeprefix("/").partition("/")
        if not slash or not secrets.compare_digest(token.encode(), self.server.token.encode()):
            self._refuse(HTTPStatus.FORBIDDEN)
            return None
        self.server.trust(self.connection)
        return path.partition("?")[0]

    def _body(self) -> bytes | None:
        """The question's bytes; None where the request was refused."""
        if self.headers.get_content_type() != "application/json":
            self._refuse(HTTPStatus.UNSUPPORTED_MEDIA_TYPE)
            return None
        length, *more = self.headers.get_all("Content-Length", [""])
        if more or not (length.isascii() and length.isdigit()) or "Transfer-Encoding" in self.headers:
            self._refuse(HTTPStatus.LENGTH_REQUIRED)
            return None
        if len(length) > 9 or int(length) > BODY_LIMIT:
            self._refuse(HTTPStatus.REQUEST_ENTITY_TOO_LARGE)
            return None
        body = self.rfile.read(int(length))
        if len(body) < int(length):
            self._refuse(HTTPStatus.BAD_REQUEST)
            return None
        return body

    def _refuse(self, status: HTTPStatus) -> None:
        """Say so and hang up: what else was sent is not read."""
        self.close_connection = True
        self._send(status, "text/plain", f"{status.phrase}\n".encode())

    def _send(self, status: HTTPStatus, kind: str, content: bytes) -> None:
        self.send_response(status)
        for name, value in (
            ("Content-Type", f"{kind}; charset=utf-8"),
            ("Content-Length", str(len(content))),
            ("Content-Security-Policy", POLICY),
            ("X-Content-Type-Options", "nosniff"),
            ("Referrer-Policy", "no-referrer"),
            ("Cross-Origin-Resource-Policy", "same-origin"),
            ("Cache-Control", "no-store"),
            ("Connection", "close" if self.close_connection else "keep-alive"),
        ):
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing: the terminal is for what concerns its user."""
