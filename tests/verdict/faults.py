"""Faults of clients and scripts, each planted among clean conversations, drawn from a seed."""

from collections.abc import Callable, Mapping
from random import Random
from typing import Any

from scenarios_app.verdict.session import said
from tests.verdict.clients import Client
from tests.verdict.dialects import DIALECTS, Anthropic, Called, Ollama, OpenAI, Talk
from tests.verdict.scripts import failing, script, step, tool_call
from tests.verdict.world import Got, World

NAME = "faulty"


def among_clean_runs(draw: Random, *steps: dict[str, Any]) -> World:
    """A world with a script for the fault, in which others have done everything right already."""
    world = World(script(draw, "clean", 1), {"name": NAME, "steps": list(steps)})
    Client(world, draw.choice(DIALECTS)(), draw).turn("[clean] question")
    return world


def answers(text: str, **keys: Any) -> dict[str, Any]:
    return step(NAME, produce={"text": text}, **keys)


def long_text(draw: Random) -> str:
    return " ".join(f"word{draw.randint(0, 999)}" for _ in range(draw.randint(20, 60)))


def asking(world: World, talk: Talk, draw: Random, **keys: Any) -> Client:
    client = Client(world, talk, draw, **{"numbers": draw.random() < 0.5, **keys})
    client.talk.user(f"[{NAME}] question {draw.randint(0, 99)}")
    return client


def retry_after_ignored(draw: Random) -> World:
    wait = draw.choice((500, 1000, 2000, 20_000))
    status = draw.choice((429, 503, 529))
    fault = {"kind": "http", "status": status, "retry_after_ms": wait}
    world = among_clean_runs(draw, answers("At last.", **failing(draw, **fault)))
    share = draw.choice((0.0, 0.1, 0.5, 0.9))

    def hasty(client: Client, got: Got, number: int) -> float:
        return wait / 1000 * share

    asking(world, draw.choice(DIALECTS)(), draw, pause=hasty).send()
    return world


def no_back_off(draw: Random) -> World:
    kinds: tuple[dict[str, Any], ...] = (
        {"kind": "model_error"},
        {"kind": "http", "status": 503},
        {"kind": "network_error"},
        {"kind": "disconnect", "after_chunks": 1},
    )
    kind = draw.choice(kinds)
    if draw.random() < 0.5:
        return loop_around_calls(draw, kind)
    again = failing(draw, draw.randint(2, 6), **kind)
    world = among_clean_runs(draw, answers("At last.", **again))
    pause = draw.choice((0.0, 0.001, 0.01))
    asking(world, draw.choice(DIALECTS)(), draw, tries=6, pause=lambda *_: pause).send()
    return world


def loop_around_calls(draw: Random, fault: dict[str, Any]) -> World:
    """Without a pause, around calls of an SDK that itself pauses between its tries."""
    tries, calls = draw.randint(1, 3), draw.randint(2, 4)
    again = failing(draw, tries * calls, **fault)
    world = among_clean_runs(draw, answers("At last.", **again))
    client = asking(world, draw.choice(DIALECTS)(), draw, tries=tries, numbers=True)
    for _ in range(calls + 1):
        client.send()
    return world


def retried_unretryable(draw: Random) -> World:
    status = draw.choice((400, 401, 403, 404, 413, 422))
    fault = draw.choice(
        ({"kind": "http", "status": status}, {"kind": "model_error", "retryable": False})
    )
    world = among_clean_runs(draw, answers("Never.", **failing(draw, 5, **fault)))
    tries = draw.randint(2, 4)

    def stubborn(client: Client, got: Got, number: int) -> float:
        return 0.5 * 2**number

    asking(world, draw.choice(DIALECTS)(), draw, tries=tries, pause=stubborn).send()
    return world


def truncated_taken_as_complete(draw: Random) -> World:
    kind = draw.choice(("truncate", "disconnect"))
    fault = {"kind": kind, "after_chunks": draw.randint(1, 3)}
    text = long_text(draw)
    world = among_clean_runs(
        draw, step(NAME, produce={"text": text, "fault": fault}), answers("Go on.")
    )
    client = asking(world, draw.choice((OpenAI, Anthropic, Ollama))(), draw)
    body = client.talk.body(stream=True)
    client.talk.said(said(world.ask(client.talk.path, body).body.decode()))
    client.talk.user("And then?")
    client.send()
    return world


def left_early(draw: Random, talk: Talk, extra: Mapping[str, Any]) -> World:
    paced = {
        "text": long_text(draw),
        "pacing": {"chunk_ms": 10_000, "words_per_chunk": draw.randint(1, 5)},
    }
    world = among_clean_runs(draw, step(NAME, produce=paced))
    client = asking(world, talk, draw)
    body = {**client.talk.body(stream=True), **extra}
    world.ask(talk.path, body, leave_after=1)
    return world


def stream_closed_early(draw: Random) -> World:
    return left_early(draw, draw.choice((OpenAI, Anthropic, Ollama))(), {})


def usage_unread(draw: Random) -> World:
    return left_early(draw, OpenAI(), {"stream_options": {"include_usage": True}})


def with_tools(draw: Random, talk: Talk) -> tuple[World, Client, list[Called]]:
    """A client that has got two calls of tools."""
    calls = step(NAME, produce=tool_call("Paris", "Rome"))
    world = among_clean_runs(draw, calls, answers("Sunny."), answers("Still."))
    client = asking(world, talk, draw)
    return world, client, client.step()


def tool_result_missing(draw: Random) -> World:
    world, client, calls = with_tools(draw, draw.choice(DIALECTS)())
    kept = draw.choice(([], calls[:1]))
    if kept:
        client.talk.results([(call, "sunny") for call in kept])
    if not kept or draw.random() < 0.5:
        client.talk.user("Well?")
    client.step()
    client.talk.user("And tomorrow?")
    client.step()
    return world


def tool_result_unknown(draw: Random) -> World:
    talk = draw.choice([one for one in DIALECTS if one is not Ollama])()
    world, client, calls = with_tools(draw, talk)
    stranger = Called(f"call_{draw.randint(10**9, 10**10)}", "get_weather", {})
    given = [*calls, stranger] if draw.random() < 0.5 else [calls[0], stranger]
    client.talk.results([(call, "sunny") for call in given])
    client.step()
    return world


def tool_arguments_outside_schema(draw: Random) -> World:
    wanted = draw.choice(
        (
            {"type": "object", "required": ["location"]},
            {"type": "object", "properties": {"city": {"type": "integer"}}},
            {"type": "object", "properties": {"city": {"enum": ["Oslo"]}}},
            {"type": "object", "properties": {"city": {"pattern": "^[a-z]+$"}}},
            {"$ref": "#/$defs/at", "$defs": {"at": {"required": ["at"]}}},
        )
    )
    world, client, calls = with_tools(draw, draw.choice(DIALECTS)(schema=wanted))
    if draw.random() < 0.5:
        client.talk.results([(call, "sunny") for call in calls])
        client.step()
    return world


def prompt_cache_broken(draw: Random) -> World:
    steps = [answers(f"Answer {number}.") for number in range(3)]
    world = among_clean_runs(draw, *steps)
    client = asking(world, draw.choice(DIALECTS)(system="It is 12:00."), draw)
    client.step()
    talk = client.talk
    match draw.choice(("clock", "order", "fewer")):
        case "clock":
            talk.system = "It is 12:01."
        case "order":
            talk.tools = tuple(reversed(talk.tools))
        case _:
            talk.tools = talk.tools[:1]
    talk.user("And then?")
    client.step()
    return world


def unmatched(draw: Random) -> World:
    world = among_clean_runs(draw, answers("Hello."))
    client = Client(world, draw.choice(DIALECTS)(), draw)
    client.talk.user(f"A question that nobody scripted, number {draw.randint(0, 99)}")
    client.step()
    client.talk.messages = []
    client.turn(f"[{NAME}] question")
    return world


def caught_by_the_catch_all(draw: Random) -> World:
    everything = {"name": "test-mode", "priority": -1000, "steps": [{"consume": False}]}
    everything["steps"] = [{"consume": False, "produce": {"text": "Anything."}}]
    world = World({"name": NAME, "steps": [answers("Hello.")]}, everything)
    talk = draw.choice(DIALECTS)
    for text in (f"[{NAME}] question", f"A question, number {draw.randint(0, 99)}"):
        Client(world, talk(), draw).turn(text)
    return world


def violated(draw: Random) -> World:
    expected = draw.choice(({"temperature": 0.5}, {"tools": ["search"]}, {"reasoning": "enabled"}))
    world = among_clean_runs(draw, answers("Hello.", expect=expected))
    asking(world, draw.choice((OpenAI, Anthropic, Ollama))(), draw).step()
    return world


def unserved(draw: Random) -> World:
    world = among_clean_runs(draw, *(answers(f"Answer {n}.") for n in range(3)))
    client = asking(world, draw.choice(DIALECTS)(), draw)
    for _ in range(draw.randint(0, 2)):
        client.step()
        client.talk.user("And then?")
    return world


# By the name of the rule, or of the part of the verdict that has to name it.
OF_CLIENTS: Mapping[str, Callable[[Random], World]] = {
    "retry-after-ignored": retry_after_ignored,
    "no-back-off": no_back_off,
    "retried-unretryable": retried_unretryable,
    "truncated-taken-as-complete": truncated_taken_as_complete,
    "stream-closed-early": stream_closed_early,
    "usage-unread": usage_unread,
    "tool-result-missing": tool_result_missing,
    "tool-result-unknown": tool_result_unknown,
    "tool-arguments-outside-schema": tool_arguments_outside_schema,
    "prompt-cache-broken": prompt_cache_broken,
}
OF_SCRIPTS: Mapping[str, Callable[[Random], World]] = {
    "unmatched": unmatched,
    "caught by the catch-all": caught_by_the_catch_all,
    "violations": violated,
    "unserved": unserved,
}
