"""Sends the traffic of hours as fast as possible: requests of all APIs, whole, streamed and
aborted, tests with separate sessions, chat runs, edits, and reads of pages."""

import asyncio
from collections import Counter
from collections.abc import Iterator

from tools.load.probing import ask
from tools.soak.client import Client
from tools.soak.leavings import (
    MAX_EVENTS,
    WARM_CONCURRENT,
    Resources,
    send_and_disconnect,
    streams,
    wait_until_settled,
    warm_up,
)

# A minute has ten requests a second; this many leave before their answer ends.
REQUESTS_PER_MINUTE, ABORTED = 600, 60
# Further requests, once a minute.
READ_PATHS = (
    "/control/requests",
    "/control/state?session=edit-0",
    "/metrics",
    "/readyz",
    "/control/scenarios",
)


def make_scenario(name: str, part: str, answer: str) -> dict[str, object]:
    """Return a scenario that answers user messages that contain `part`."""
    match = {"messages": [{"role": "user", "contains": part}]}
    return {
        "name": name,
        "steps": [{"match": match, "consume": False, "produce": {"text": answer}}],
    }


QUICK = make_scenario("quick", "quickly", "An answer without a pause between its words.")


async def run_hours(port: int, pids: set[int], *, minutes: int, at_once: int) -> list[Resources]:
    """Return the resources of processes before, and after each quarter of `minutes` of traffic.

    Raises AssertionError on a wrong response.
    """
    await warm_up(port, pids)
    # Creates what the control API needs, such as a connection for each thread.
    await asyncio.gather(
        *(_run_test(port, -1 - test, Counter()) for test in range(WARM_CONCURRENT))
    )
    samples = [await wait_until_settled(pids)]
    for quarter in range(4):
        remaining = iter(range(quarter * minutes // 4, (quarter + 1) * minutes // 4))
        statuses: Counter[int] = Counter()
        async with asyncio.TaskGroup() as group:
            for _ in range(at_once):
                group.create_task(_run_minutes(port, remaining, statuses))
        samples.append(await wait_until_settled(pids))
        print(f"  quarter {quarter + 1}: {dict(statuses)}, {samples[-1]}", flush=True)
        assert set(statuses) == {200}, statuses
    return samples


async def _run_minutes(port: int, minutes: Iterator[int], statuses: Counter[int]) -> None:
    """Send the traffic of each minute that the iterator, shared by all clients, still has."""
    for minute in minutes:
        await _send_requests(port, minute, statuses)
        await _abort_requests(port, minute)
        await _run_test(port, minute, statuses)
        await _edit_scenario(port, minute)


async def _send_requests(port: int, minute: int, statuses: Counter[int]) -> None:
    """Send requests and read their responses: OpenAI chat over five connections, and two of each
    API and of the chat on new ones."""
    clients = [Client(port, session=f"team-{minute}-{number}") for number in range(5)]
    for number in range(REQUESTS_PER_MINUTE - ABORTED - 2 * len(streams())):
        client = clients[number % len(clients)]
        status, _ = await client.ask(f"Answer {number} quickly.", stream=number % 3 == 0)
        statuses[status] += 1
    for client in clients:
        await client.closed()
    for data in [*streams().values()] * 2:
        statuses[await ask(port, data)] += 1


async def _abort_requests(port: int, minute: int) -> None:
    """Send requests, each aborted at another event of its response."""
    requests = list(streams().values())
    for number in range(ABORTED):
        position = minute * ABORTED + number
        await send_and_disconnect(
            port,
            requests[position % len(requests)],
            events=position // len(requests) % MAX_EVENTS,
            inside=position % 2 == 1,
        )


async def _run_test(port: int, minute: int, statuses: Counter[int]) -> None:
    """Act as one test: load a scenario, send a request, fetch the verdict, reset, list
    scenarios."""
    session = f"test-{minute}"
    client = Client(port, session=session)
    scenario = make_scenario("own", "mine", "Yours.")
    await client.control("PUT", f"/control/scenarios/own?session={session}", scenario)
    status, text = await client.ask("This is mine.")
    statuses[status] += 1
    assert text == "Yours.", text
    verdict = await client.control("GET", f"/control/verdict?session={session}")
    assert verdict["passed"], verdict["text"]
    await client.control("POST", "/control/reset", {"session": session, "scenarios": True})
    for path in READ_PATHS:
        statuses[(await client.request("GET", path))[0]] += 1
    await client.closed()


async def _edit_scenario(port: int, minute: int) -> None:
    """Replace a shared scenario, and assert that the next request gets its answer."""
    client = Client(port, session=f"edit-{minute}")
    text, name = f"edit number {minute}.", f"edited-{minute % 10}"
    await client.control("PUT", f"/control/scenarios/{name}", make_scenario(name, text, text))
    assert await client.ask(text) == (200, text)
    await client.closed()
