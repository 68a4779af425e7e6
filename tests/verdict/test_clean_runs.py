"""No false alarm: runs of clients that do everything right, each drawn from its seed; a thousand of
them in `make test-long`."""

from random import Random
from typing import Any

import pytest

from tests.verdict.clients import Client
from tests.verdict.dialects import DIALECTS
from tests.verdict.scripts import failing, script, step
from tests.verdict.world import World

RUNS, RUNS_IN_THE_SUITE, IN_ONE_TEST = 1_000, 100, 25


@pytest.mark.parametrize("first", range(0, RUNS_IN_THE_SUITE, IN_ONE_TEST))
def test_nothing_is_said_of_clients_that_do_everything_right(first: int) -> None:
    nothing_is_said(first)


@pytest.mark.long
@pytest.mark.parametrize("first", range(0, RUNS, IN_ONE_TEST))
def test_nothing_is_said_in_a_thousand_clean_runs(first: int) -> None:
    nothing_is_said(first)


def nothing_is_said(first: int) -> None:
    for seed in range(first, first + IN_ONE_TEST):
        world = clean_run(Random(seed))
        verdict = world.verdict(strict=True)
        assert verdict.passed, (seed, verdict)
        assert verdict.requests >= 2


def clean_run(draw: Random) -> World:
    """Conversations one after another, and sometimes several clients that ask the same."""
    names = [f"conv-{number}" for number in range(draw.randint(1, 3))]
    turns = {name: draw.randint(1, 3) for name in names}
    same = {"name": "same", "steps": [step("same", consume=False, produce={"text": "The same."})]}
    loops = draw.random() < 0.3
    world = World(
        same, *([busy(draw)] if loops else []), *(script(draw, name, turns[name]) for name in names)
    )
    for name in names:
        client = Client(
            world,
            draw.choice(DIALECTS)(system=f"You are {name}."),
            draw,
            numbers=draw.random() < 0.5,
        )
        for turn in range(turns[name]):
            # Tools in a stream are a matter of the wires' own tests.
            client.turn(f"[{name}] question {turn}")
    if loops:
        loop_with_pauses(draw, world)
    for _ in range(draw.randint(1, 3)):
        stream = draw.random() < 0.5
        Client(world, draw.choice(DIALECTS)(), draw).turn("[same] question", stream=stream)
    return world


def busy(draw: Random) -> dict[str, Any]:
    fault = {"kind": "http", "status": draw.choice((500, 503))}
    again = failing(draw, draw.randint(2, 6), **fault)
    return {
        "name": "busy",
        "steps": [step("busy", consume=False, produce={"text": "Now."}, **again)],
    }


def loop_with_pauses(draw: Random, world: World) -> None:
    """Around calls of an SDK, of one try or several, by one client; or twice the same at once."""
    talk = draw.choice(DIALECTS)()
    talk.user("[busy] question")
    client = Client(world, talk, draw, numbers=True, tries=draw.randint(1, 3))
    together = draw.random() < 0.3
    while client.send().status != 200:
        if together:
            client.send()
        world.wait(draw.uniform(0.3, 2.0))
