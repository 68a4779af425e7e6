"""Hours of what a team does with a server, as fast as it goes: requests of all wires, whole,
streamed and left, tests with a session of their own, runs of the chat, edits, and a look at it."""

import asyncio
from collections import Counter
from collections.abc import Iterator

from tools.load.probing import ask
from tools.soak.client import Client
from tools.soak.leavings import EVENTS, WARM_AT_ONCE, Held, drop, settled, streams, warmed

# A minute has ten requests a second; this many leave before their answer ends.
REQUESTS, LEAVING = 600, 60
# Further requests, once a minute.
LOOKED_AT = (
    "/control/requests",
    "/control/state?session=edit-0",
    "/metrics",
    "/readyz",
    "/control/scenarios",
)


def saying(name: str, part: str, answer: str) -> dict[str, object]:
    """A scenario that answers a user who says this."""
    match = {"messages": [{"role": "user", "contains": part}]}
    return {
        "name": name,
        "steps": [{"match": match, "consume": False, "produce": {"text": answer}}],
    }


QUICK = saying("quick", "quickly", "An answer without a pause between its words.")


async def hours(port: int, pids: set[int], *, minutes: int, at_once: int) -> list[Held]:
    """Return the resources of processes before, and after each quarter of `minutes` of traffic.

    Raises AssertionError on a wrong response.
    """
    await warmed(port, pids)
    # Creates what the control API needs, such as a connection for each thread.
    await asyncio.gather(*(_tested(port, -1 - test, Counter()) for test in range(WARM_AT_ONCE)))
    samples = [await settled(pids)]
    for quarter in range(4):
        left = iter(range(quarter * minutes // 4, (quarter + 1) * minutes // 4))
        statuses: Counter[int] = Counter()
        async with asyncio.TaskGroup() as group:
            for _ in range(at_once):
                group.create_task(_some(port, left, statuses))
        samples.append(await settled(pids))
        print(f"  quarter {quarter + 1}: {dict(statuses)}, {samples[-1]}", flush=True)
        assert set(statuses) == {200}, statuses
    return samples


async def _some(port: int, minutes: Iterator[int], statuses: Counter[int]) -> None:
    for minute in minutes:
        await _send_requests(port, minute, statuses)
        await _left(port, minute)
        await _tested(port, minute, statuses)
        await _edited(port, minute)


async def _send_requests(port: int, minute: int, statuses: Counter[int]) -> None:
    """Clients that wait for their answers: of OpenAI on one connection, with a few keys, and one of
    each wire and of the chat on its own."""
    clients = [Client(port, session=f"team-{minute}-{number}") for number in range(5)]
    for number in range(REQUESTS - LEAVING - 2 * len(streams())):
        client = clients[number % len(clients)]
        status, _ = await client.ask(f"Answer {number} quickly.", stream=number % 3 == 0)
        statuses[status] += 1
    for client in clients:
        await client.closed()
    for data in [*streams().values()] * 2:
        statuses[await ask(port, data)] += 1


async def _left(port: int, minute: int) -> None:
    requests = list(streams().values())
    for number in range(LEAVING):
        place = minute * LEAVING + number
        await drop(
            port,
            requests[place % len(requests)],
            events=place // len(requests) % EVENTS,
            inside=place % 2 == 1,
        )


async def _tested(port: int, minute: int, statuses: Counter[int]) -> None:
    """Act as one test: load a scenario, send a request, fetch the verdict, reset, list
    scenarios."""
    session = f"test-{minute}"
    client = Client(port, session=session)
    own = saying("own", "mine", "Yours.")
    await client.control("PUT", f"/control/scenarios/own?session={session}", own)
    status, text = await client.ask("This is mine.")
    statuses[status] += 1
    assert text == "Yours.", text
    verdict = await client.control("GET", f"/control/verdict?session={session}")
    assert verdict["passed"], verdict["text"]
    await client.control("POST", "/control/reset", {"session": session, "scenarios": True})
    for path in LOOKED_AT:
        statuses[(await client.request("GET", path))[0]] += 1
    await client.closed()


async def _edited(port: int, minute: int) -> None:
    """A common scenario is written anew, and the next request sees it."""
    client = Client(port, session=f"edit-{minute}")
    text, name = f"edit number {minute}.", f"edited-{minute % 10}"
    await client.control("PUT", f"/control/scenarios/{name}", saying(name, text, text))
    assert await client.ask(text) == (200, text)
    await client.closed()
