"""Serves given responses with the smallest ASGI application, as a lower bound.

`python -m tools.bench.bare FILE` serves the responses in FILE, `/0` the first, and prints its port.
"""

import json
import socket
import sys
from collections.abc import Awaitable, Callable
from typing import Any

import uvicorn

Answers = list[tuple[list[tuple[bytes, bytes]], bytes]]


def application(answers: Answers) -> Callable[..., Awaitable[None]]:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        while (await receive()).get("more_body", False):
            pass
        headers, body = answers[int(scope["path"][1:])]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": body})

    return app


def main(file: str) -> None:
    with open(file, encoding="utf-8") as body_file:
        answers = [
            ([(k.encode(), v.encode()) for k, v in headers], body.encode())
            for headers, body in json.load(body_file)
        ]
    config = uvicorn.Config(
        application(answers),
        log_config=None,
        access_log=False,
        lifespan="off",
        server_header=False,
        proxy_headers=False,
    )
    with socket.create_server(("127.0.0.1", 0)) as bound:
        print(f"bare ready on http://127.0.0.1:{bound.getsockname()[1]}", flush=True)
        uvicorn.Server(config).run(sockets=[bound])


if __name__ == "__main__":
    main(sys.argv[1])
