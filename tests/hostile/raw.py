"""HTTP as bytes on a socket: what no client library would send, and what comes back."""

import http.client
import json
import socket
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

ANSWER_SECONDS = 60.0


@dataclass(frozen=True)
class Answer:
    """Status 0: the connection was closed without an answer."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    def json(self) -> Any:
        return json.loads(self.body)


NOTHING = Answer(0, {}, b"")


def message(
    method: str,
    path: str,
    body: bytes = b"",
    *,
    headers: Mapping[str, str] | None = None,
    host: str | None = "127.0.0.1",
    length: int | None = None,
) -> bytes:
    """A request as it goes over the wire. `length` tells another length than the body's; a name
    that stands in `headers` is not added a second time."""
    lines = [f"{method} {path} HTTP/1.1"]
    given = dict(headers or {})
    names = {name.lower() for name in given}
    if host is not None and "host" not in names:
        given = {"Host": host, **given}
    if not names & {"content-length", "transfer-encoding"}:
        given["Content-Length"] = str(len(body) if length is None else length)
    lines += [f"{name}: {value}" for name, value in given.items()]
    return "\r\n".join(lines).encode("utf-8") + b"\r\n\r\n" + body


def chunked(body: bytes, *, size: int = 65_536) -> bytes:
    """A body in the chunked coding, with its end."""
    pieces = [body[at : at + size] for at in range(0, len(body), size)]
    return b"".join(b"%x\r\n%b\r\n" % (len(p), p) for p in pieces) + b"0\r\n\r\n"


def exchange(port: int, data: bytes, *, half_close: bool = False) -> Answer:
    """Send bytes and read the first answer to them. `half_close`: nothing more will come."""
    with socket.create_connection(("127.0.0.1", port), ANSWER_SECONDS) as sock:
        sock.sendall(data)
        if half_close:
            sock.shutdown(socket.SHUT_WR)
        response = http.client.HTTPResponse(sock, method=data[:4].strip().decode("latin-1"))
        try:
            response.begin()
            body = response.read()
        except (ConnectionResetError, http.client.BadStatusLine):
            return NOTHING
        finally:
            response.close()
        headers = {name.lower(): value for name, value in response.getheaders()}
        return Answer(response.status, headers, body)
