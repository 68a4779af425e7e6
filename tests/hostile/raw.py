"""Sends HTTP requests as bytes, such as no client library would send, and reads the response."""

import http.client
import json
import socket
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

ANSWER_SECONDS = 60.0


@dataclass(frozen=True)
class Response:
    """A response; status 0 means that the connection was closed without one."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    def json(self) -> Any:
        return json.loads(self.body)


NO_RESPONSE = Response(0, {}, b"")


def encode_request(
    method: str,
    path: str,
    body: bytes = b"",
    *,
    headers: Mapping[str, str] | None = None,
    host: str | None = "127.0.0.1",
    length: int | None = None,
) -> bytes:
    """Return the bytes of a request.

    `length` overrides the length of the body in `content-length`. A header in `headers` replaces
    the default one of that name.
    """
    lines = [f"{method} {path} HTTP/1.1"]
    all_headers = dict(headers or {})
    header_names = {name.lower() for name in all_headers}
    if host is not None and "host" not in header_names:
        all_headers = {"Host": host, **all_headers}
    if not header_names & {"content-length", "transfer-encoding"}:
        all_headers["Content-Length"] = str(len(body) if length is None else length)
    lines += [f"{name}: {value}" for name, value in all_headers.items()]
    return "\r\n".join(lines).encode("utf-8") + b"\r\n\r\n" + body


def chunked(body: bytes, *, size: int = 65_536) -> bytes:
    """Return a body in the chunked transfer coding, with its last chunk."""
    pieces = [body[at : at + size] for at in range(0, len(body), size)]
    return b"".join(b"%x\r\n%b\r\n" % (len(p), p) for p in pieces) + b"0\r\n\r\n"


def send_bytes(port: int, data: bytes, *, half_close: bool = False) -> Response:
    """Send bytes and read the first response. `half_close` ends the client's side first."""
    with socket.create_connection(("127.0.0.1", port), ANSWER_SECONDS) as sock:
        sock.sendall(data)
        if half_close:
            sock.shutdown(socket.SHUT_WR)
        response = http.client.HTTPResponse(sock, method=data[:4].strip().decode("latin-1"))
        try:
            response.begin()
            body = response.read()
        except (ConnectionResetError, http.client.BadStatusLine):
            return NO_RESPONSE
        finally:
            response.close()
        headers = {name.lower(): value for name, value in response.getheaders()}
        return Response(response.status, headers, body)
