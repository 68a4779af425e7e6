"""`python -m tests.replay PATH…`: recordings loaded into a server without an edit, each request
sent to it, and every answer that is not the recorded one told."""

import os
import sys
from pathlib import Path

import httpx

from scenarios_app.testing.process import ServerOptions, server_process
from tests.replay.replaying import cassettes_of, replay


def main(paths: list[str]) -> int:
    if not paths:
        print("usage: python -m tests.replay PATH…", file=sys.stderr)
        return 2
    cassettes = cassettes_of([Path(path) for path in paths])
    settings = {"MOCKLLM_SCENARIOS": os.pathsep.join(map(os.path.abspath, paths))}
    start = ServerOptions(settings=settings, timeout=300)
    sent, wrong = 0, 0
    with server_process(start) as (url, _), httpx.Client(base_url=url, timeout=60) as http:
        for cassette in cassettes:
            for outcome in replay(http, cassette):
                sent += 1
                if outcome.wrong:
                    wrong += 1
                    print(f"{outcome.cassette}, {outcome.number}: {outcome.wrong}")
    elsewhere = sum(len(one.interactions) - one.replayable for one in cassettes)
    print(f"{len(cassettes)} recordings, {sent} requests, {sent - wrong} as recorded, {wrong} not")
    if elsewhere:
        print(f"{elsewhere} more are for APIs that this server does not speak")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
