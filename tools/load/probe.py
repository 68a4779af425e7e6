"""Sends small requests one by one until its input ends; prints the seconds of the longest."""

import socket
import sys
import time
from select import select

from tools.load.probing import chat, request

PAUSE_SECONDS = 0.01
SMALL = request("/v1/chat/completions", chat("a small question"), key="probe")
SECONDS = 120.0


def main() -> None:
    longest = 0.0
    with socket.create_connection(("127.0.0.1", int(sys.argv[1])), timeout=SECONDS) as one:
        print("probing", flush=True)
        while not select([sys.stdin], [], [], PAUSE_SECONDS)[0]:
            start = time.monotonic()
            one.sendall(SMALL)
            answer = b""
            while b"A small answer." not in answer:
                piece = one.recv(65_536)
                assert piece, answer
                answer += piece
            longest = max(longest, time.monotonic() - start)
    print(longest)


if __name__ == "__main__":
    main()
