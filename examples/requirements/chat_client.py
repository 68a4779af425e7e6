"""Requirement 004: a client of the chat API that loses its connection, comes back, votes, and
reads what happened.

    python examples/requirements/chat_client.py
"""

import json
from collections.abc import Iterator
from typing import Any

import httpx2
from mockllm import running_server, scenario

ME = "example"
STORY = (
    scenario("story")
    .with_messages(contains="story")
    .respond_with_text("Once upon a time.")
    .always()
).build()


def events(response: httpx2.Response) -> Iterator[tuple[int, dict[str, Any]]]:
    """The numbered events of a stream, comments left out."""
    number = 0
    for line in response.iter_lines():
        name, _, value = line.partition(": ")
        if name == "id":
            number = int(value)
        elif name == "data":
            yield number, json.loads(value)


def message(text: str, **fields: str) -> dict[str, str]:
    return {"client_id": ME, "message": text, **fields}


def main() -> None:
    with (
        running_server(scenarios=[STORY], fixtures=["profiles"], light=False) as server,
        httpx2.Client(base_url=server.base_url, timeout=60) as client,
    ):
        with client.stream("POST", "/api/get_chat_response_stream", json=message("A story")) as run:
            last, started = next(events(run))
            print("connection lost after:", started["type"])
        trace = started["trace_id"]

        # The run goes on without a listener. Nothing is missed, and nothing comes twice.
        again = {"Last-Event-ID": str(last)}
        with client.stream(
            "GET", f"/api/stream/{trace}", params={"client_id": ME}, headers=again
        ) as run:
            rest = list(events(run))
        print("numbers:", last, *(number for number, _ in rest))
        print("text:", "".join(event.get("content", "") for _, event in rest))

        body = client.get(f"/api/trace/{trace}").json()
        print("trace:", body["status"], "with", len(body["events"]), "events")

        both = message("A story", profile_a="demo", profile_b="demo-anthropic")
        with client.stream("POST", "/api/ab/stream", json=both) as run:
            *_, (_, done) = events(run)
        vote = {"client_id": ME, "comparison_id": done["comparison_id"], "preference": "tie"}
        print("vote:", client.post("/api/ab/vote", json=vote).json()["preference"])


if __name__ == "__main__":
    main()
