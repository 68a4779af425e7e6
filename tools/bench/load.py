"""A client that sends requests as fast as possible: some connections, each with one request at
a time."""

import itertools
import selectors
import socket
import time
from dataclasses import dataclass, field

CONNECTIONS = 8
END_OF_CHUNKS = b"0\r\n\r\n"


@dataclass
class _Connection:
    sock: socket.socket
    head: bytes = b""
    # Missing bytes; -1 if only the end of the connection tells.
    missing: int = 0
    tail: bytes = field(default=b"")


def ask(port: int, *requests: bytes, seconds: float) -> int:
    """Send these requests in turn for `seconds`; return the number of responses. Raises unless all
    are 200."""
    next_requests = itertools.cycle(requests)
    selector = selectors.DefaultSelector()
    address = ("127.0.0.1", port)
    connections = [_Connection(socket.create_connection(address)) for _ in range(CONNECTIONS)]
    for connection in connections:
        connection.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        selector.register(connection.sock, selectors.EVENT_READ, connection)
        connection.sock.sendall(next(next_requests))
    responses = 0
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        for key, _ in selector.select(0.1):
            if _read_available(key.data):
                responses += 1
                key.data.sock.sendall(next(next_requests))
    for connection in connections:
        connection.sock.close()
    selector.close()
    return responses


def _read_available(connection: _Connection) -> bool:
    """Read the available bytes; return True at the end of a response. Raises ConnectionError if the
    server has closed the connection, ValueError for a status other than 200."""
    data = connection.sock.recv(1 << 20)
    if not data:
        raise ConnectionError("the server closed a connection")
    if not connection.missing:
        connection.head += data
        head, separator, rest = connection.head.partition(b"\r\n\r\n")
        if not separator:
            return False
        if b" 200 " not in head[:14]:
            raise ValueError(head[:200] + rest[:500])
        length = head.lower().partition(b"content-length:")[2].split(b"\r\n")[0]
        connection.missing = int(length) if length else -1
        connection.head = b""
        data = rest
    if connection.missing < 0:
        connection.tail = (connection.tail + data)[-len(END_OF_CHUNKS) :]
        is_complete = connection.tail == END_OF_CHUNKS
    else:
        connection.missing -= len(data)
        is_complete = not connection.missing
    if is_complete:
        connection.missing, connection.tail = 0, b""
    return is_complete
