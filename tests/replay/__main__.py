"""`python -m tests.replay PATH…`: load recordings into a server, send their requests, and print the
responses that differ."""

import os
import sys
from pathlib import Path

import httpx

from scenarios_app.testing.process import ServerOptions, server_process
from tests.replay.replaying import read_cassettes, replay


def main(paths: list[str]) -> int:
    if not paths:
        print("usage: python -m tests.replay PATH…", file=sys.stderr)
        return 2
    cassettes = read_cassettes([Path(path) for path in paths])
    settings = {"MOCKLLM_SCENARIOS": os.pathsep.join(map(os.path.abspath, paths))}
    start = ServerOptions(settings=settings, timeout=300)
    sent, wrong = 0, 0
    with server_process(start) as (url, _), httpx.Client(base_url=url, timeout=60) as http:
        for cassette in cassettes:
            for outcome in replay(http, cassette):
                sent += 1
                if outcome.difference:
                    wrong += 1
                    print(f"{outcome.cassette}, {outcome.number}: {outcome.difference}")
    foreign_count = sum(len(cassette.interactions) - cassette.replayable for cassette in cassettes)
    print(f"{len(cassettes)} recordings, {sent} requests, {sent - wrong} as recorded, {wrong} not")
    if foreign_count:
        print(f"{foreign_count} more are for APIs that this server does not speak")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
