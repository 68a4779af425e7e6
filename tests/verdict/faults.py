"""Random faults of clients and scenarios, each planted among clean conversations."""

import json
from collections.abc import Callable, Mapping
from random import Random
from typing import Any

from scenarios_app.verdict.session import response_text
from tests.verdict.clients import Client
from tests.verdict.dialects import (
    DIALECTS,
    Anthropic,
    ApiConversation,
    Ollama,
    OpenAI,
    RequestedCall,
)
from tests.verdict.random_scenarios import failing, script, step, tool_call
from tests.verdict.simulated_server import ServerResponse, SimulatedServer

NAME = "faulty"


def server_with_clean_runs(random: Random, *steps: dict[str, Any]) -> SimulatedServer:
    """Return a server with steps for a fault, on which a clean conversation has run already."""
    server = SimulatedServer(script(random, "clean", 1), {"name": NAME, "steps": list(steps)})
    Client(server, random.choice(DIALECTS)(), random).run_turn("[clean] question")
    return server


def answers(text: str, **keys: Any) -> dict[str, Any]:
    return step(NAME, produce={"text": text}, **keys)


def long_text(random: Random) -> str:
    return " ".join(f"word{random.randint(0, 999)}" for _ in range(random.randint(20, 60)))


def client_with_question(
    server: SimulatedServer, conversation: ApiConversation, random: Random, **keys: Any
) -> Client:
    client = Client(
        server, conversation, random, **{"numbers_attempts": random.random() < 0.5, **keys}
    )
    client.conversation.add_user_message(f"[{NAME}] question {random.randint(0, 99)}")
    return client


def retry_after_ignored(random: Random) -> SimulatedServer:
    wait = random.choice((500, 1000, 2000, 20_000))
    status = random.choice((429, 503, 529))
    fault = {"kind": "http", "status": status, "retry_after_ms": wait}
    server = server_with_clean_runs(random, answers("At last.", **failing(random, **fault)))
    share = random.choice((0.0, 0.1, 0.5, 0.9))

    def hasty(client: Client, response: ServerResponse, number: int) -> float:
        return wait / 1000 * share

    client_with_question(server, random.choice(DIALECTS)(), random, pause=hasty).send()
    return server


def no_back_off(random: Random) -> SimulatedServer:
    kinds: tuple[dict[str, Any], ...] = (
        {"kind": "model_error"},
        {"kind": "http", "status": 503},
        {"kind": "network_error"},
        {"kind": "disconnect", "after_chunks": 1},
    )
    kind = random.choice(kinds)
    if random.random() < 0.5:
        return loop_around_calls(random, kind)
    # The last attempt succeeds: a loop that fails to its end is undecided.
    again = failing(random, random.randint(2, 5), **kind)
    server = server_with_clean_runs(random, answers("At last.", **again))
    pause = random.choice((0.0, 0.001, 0.01))
    client_with_question(
        server, random.choice(DIALECTS)(), random, max_attempts=6, pause=lambda *_: pause
    ).send()
    return server


def loop_around_calls(random: Random, fault: dict[str, Any]) -> SimulatedServer:
    """Loop without a pause around calls of an SDK that pauses between its attempts."""
    max_attempts, calls = random.randint(1, 3), random.randint(2, 4)
    again = failing(random, max_attempts * calls, **fault)
    server = server_with_clean_runs(random, answers("At last.", **again))
    client = client_with_question(
        server, random.choice(DIALECTS)(), random, max_attempts=max_attempts, numbers_attempts=True
    )
    for _ in range(calls + 1):
        client.send()
    return server


def retried_unretryable(random: Random) -> SimulatedServer:
    status = random.choice((400, 401, 403, 404, 413, 422))
    fault = random.choice(
        ({"kind": "http", "status": status}, {"kind": "model_error", "retryable": False})
    )
    server = server_with_clean_runs(random, answers("Never.", **failing(random, 5, **fault)))
    max_attempts = random.randint(2, 4)
    numbers_attempts = random.random() < 0.5

    def stubborn(client: Client, response: ServerResponse, number: int) -> float:
        # Requests without numbers that all fail are undecided if they are closer than 10 s.
        return 0.5 * 2**number if numbers_attempts else random.uniform(11, 60)

    client_with_question(
        server,
        random.choice(DIALECTS)(),
        random,
        numbers_attempts=numbers_attempts,
        max_attempts=max_attempts,
        pause=stubborn,
    ).send()
    return server


def retries_undecided(random: Random) -> SimulatedServer:
    """Send requests that all fail, as a loop or as parallel clients on a busy machine do."""
    fault = random.choice(
        (
            {"kind": "http", "status": random.choice((400, 401, 404, 422))},
            {"kind": "http", "status": random.choice((429, 503)), "retry_after_ms": 2000},
            {"kind": "model_error"},
            {"kind": "network_error"},
        )
    )
    server = server_with_clean_runs(random, answers("Never.", **failing(random, 9, **fault)))
    pause = random.choice((0.0, 0.001, 0.01))
    client = client_with_question(server, random.choice(DIALECTS)(), random, max_attempts=1)
    for _ in range(random.randint(3, 6)):
        client.send()
        server.wait(pause)
    return server


def truncated_taken_as_complete(random: Random) -> SimulatedServer:
    kind = random.choice(("truncate", "disconnect"))
    fault = {"kind": kind, "after_chunks": random.randint(1, 3)}
    text = long_text(random)
    server = server_with_clean_runs(
        random, step(NAME, produce={"text": text, "fault": fault}), answers("Go on.")
    )
    client = client_with_question(server, random.choice((OpenAI, Anthropic, Ollama))(), random)
    body = client.conversation.body(stream=True)
    client.conversation.add_reply(
        response_text(server.ask(client.conversation.path, body).body.decode())
    )
    client.conversation.add_user_message("And then?")
    client.send()
    return server


def server_with_closed_stream(
    random: Random, conversation: ApiConversation, extra: Mapping[str, Any]
) -> SimulatedServer:
    paced = {
        "text": long_text(random),
        "pacing": {"chunk_ms": 10_000, "words_per_chunk": random.randint(1, 5)},
    }
    server = server_with_clean_runs(random, step(NAME, produce=paced))
    client = client_with_question(server, conversation, random)
    body = {**client.conversation.body(stream=True), **extra}
    server.ask(conversation.path, body, leave_after=1)
    return server


def stream_closed_early(random: Random) -> SimulatedServer:
    return server_with_closed_stream(random, random.choice((OpenAI, Anthropic, Ollama))(), {})


def usage_unread(random: Random) -> SimulatedServer:
    return server_with_closed_stream(random, OpenAI(), {"stream_options": {"include_usage": True}})


def client_with_tool_calls(
    random: Random, conversation: ApiConversation
) -> tuple[SimulatedServer, Client, list[RequestedCall]]:
    """Return a client that has received two tool calls."""
    calls = step(NAME, produce=tool_call("Paris", "Rome"))
    server = server_with_clean_runs(random, calls, answers("Sunny."), answers("Still."))
    client = client_with_question(server, conversation, random)
    return server, client, client.send_step()


def tool_result_missing(random: Random) -> SimulatedServer:
    server, client, calls = client_with_tool_calls(random, random.choice(DIALECTS)())
    answered_calls = random.choice(([], calls[:1]))
    if answered_calls:
        client.conversation.add_results([(call, "sunny") for call in answered_calls])
    if not answered_calls or random.random() < 0.5:
        client.conversation.add_user_message("Well?")
    client.send_step()
    client.conversation.add_user_message("And tomorrow?")
    client.send_step()
    return server


def tool_result_unknown(random: Random) -> SimulatedServer:
    conversation = random.choice([dialect for dialect in DIALECTS if dialect is not Ollama])()
    server, client, calls = client_with_tool_calls(random, conversation)
    unknown_call = RequestedCall(f"call_{random.randint(10**9, 10**10)}", "get_weather", {})
    calls_with_results = (
        [*calls, unknown_call] if random.random() < 0.5 else [calls[0], unknown_call]
    )
    client.conversation.add_results([(call, "sunny") for call in calls_with_results])
    client.send_step()
    return server


def tool_arguments_outside_schema(random: Random) -> SimulatedServer:
    schema = random.choice(
        (
            {"type": "object", "required": ["location"]},
            {"type": "object", "properties": {"city": {"type": "integer"}}},
            {"type": "object", "properties": {"city": {"enum": ["Oslo"]}}},
            {"type": "object", "properties": {"city": {"pattern": "^[a-z]+$"}}},
            {"$ref": "#/$defs/at", "$defs": {"at": {"required": ["at"]}}},
        )
    )
    server, client, calls = client_with_tool_calls(random, random.choice(DIALECTS)(schema=schema))
    if random.random() < 0.5:
        client.conversation.add_results([(call, "sunny") for call in calls])
        client.send_step()
    return server


def tool_not_offered(random: Random) -> SimulatedServer:
    conversation = random.choice(DIALECTS)()
    conversation.tools = random.choice((("get_time",), ("get_time", "weather")))
    server = server_with_clean_runs(random, step(NAME, produce=tool_call("Paris", "Rome")))
    client_with_question(server, conversation, random).send_step()
    return server


def prompt_cache_broken(random: Random) -> SimulatedServer:
    steps = [answers(f"Answer {number}.") for number in range(3)]
    server = server_with_clean_runs(random, *steps)
    client = client_with_question(server, random.choice(DIALECTS)(system="It is 12:00."), random)
    client.send_step()
    conversation = client.conversation
    match random.choice(("clock", "order", "fewer")):
        case "clock":
            conversation.system = "It is 12:01."
        case "order":
            conversation.tools = tuple(reversed(conversation.tools))
        case _:
            conversation.tools = conversation.tools[:1]
    conversation.add_user_message("And then?")
    client.send_step()
    return server


def ask_over_socket(
    server: SimulatedServer, number: int, *items: dict[str, Any], **fields: Any
) -> ServerResponse:
    """Send a request over the connection with this number, as if it had no earlier response."""
    # The end of the key stays readable where the journal masks it.
    headers = {"upgrade": "websocket", "sec-websocket-key": f"{number:022}=="}
    body = {"model": "gpt-5", "store": False, "stream": True, "input": list(items)}
    return server.ask("/v1/responses", {**body, **fields}, headers=headers)


def user_item(random: Random) -> dict[str, Any]:
    text = f"[{NAME}] question {random.randint(0, 99)}"
    return {
        "role": "user",
        "content": random.choice((text, [{"type": "input_text", "text": text}])),
    }


def input_not_resent(random: Random) -> SimulatedServer:
    server = server_with_clean_runs(random, answers("Hello."), answers("Again."))
    question, later = user_item(random), {"role": "user", "content": f"[{NAME}] And then?"}
    response = response_id(ask_over_socket(server, 1, question))
    ask_over_socket(server, 2, later, previous_response_id=response)
    if random.random() < 0.5:
        ask_over_socket(server, 2, later)
    return server


def response_id(response: ServerResponse) -> str:
    events = (line.removeprefix("data: ") for line in response.body.decode().splitlines())
    created = next(line for line in events if "response.created" in line and "{" in line)
    identifier: str = json.loads(created)["response"]["id"]
    return identifier


def tool_output_lost(random: Random) -> SimulatedServer:
    fault = {"kind": random.choice(("disconnect", "truncate")), "after_chunks": 1}
    call = {"name": "get_weather", "arguments": {"city": "Oslo"}, "id": "call_of_the_socket"}
    server = server_with_clean_runs(
        random,
        step(NAME, produce={"tool_calls": [call]}),
        step(NAME, produce={"text": long_text(random), "fault": fault}),
        answers("At last."),
    )
    question = user_item(random)
    tools = {"tools": [{"type": "function", "name": "get_weather", "parameters": {}}]}
    ask_over_socket(server, 1, question, **tools)
    call_item = {"type": "function_call", "call_id": call["id"], "name": "get_weather"}
    output = {"type": "function_call_output", "call_id": call["id"], "output": "sunny"}
    ask_over_socket(server, 1, question, {**call_item, "arguments": "{}"}, output, **tools)
    server.wait(1.0)
    later = {"role": "user", "content": f"[{NAME}] Well?"}
    ask_over_socket(server, 2, question, *random.choice(((), (later,))), **tools)
    return server


def too_many_reconnects(random: Random) -> SimulatedServer:
    fault = {"kind": random.choice(("disconnect", "network_error")), "after_chunks": 1}
    if fault["kind"] == "network_error":
        del fault["after_chunks"]
    again = failing(random, random.randint(6, 9), **fault)
    server = server_with_clean_runs(random, answers(long_text(random), **again))
    question = user_item(random)
    for number in range(again["failures"]["times"] + 1):
        ask_over_socket(server, number, question)
        server.wait(random.uniform(0.1, 2.0))
    return server


def unmatched(random: Random) -> SimulatedServer:
    server = server_with_clean_runs(random, answers("Hello."))
    client = Client(server, random.choice(DIALECTS)(), random)
    client.conversation.add_user_message(
        f"A question that nobody scripted, number {random.randint(0, 99)}"
    )
    client.send_step()
    client.conversation.messages = []
    client.run_turn(f"[{NAME}] question")
    return server


def answered_by_catch_all(random: Random) -> SimulatedServer:
    everything = {"name": "test-mode", "priority": -1000, "steps": [{"consume": False}]}
    everything["steps"] = [{"consume": False, "produce": {"text": "Anything."}}]
    server = SimulatedServer({"name": NAME, "steps": [answers("Hello.")]}, everything)
    conversation = random.choice(DIALECTS)
    for text in (f"[{NAME}] question", f"A question, number {random.randint(0, 99)}"):
        Client(server, conversation(), random).run_turn(text)
    return server


def violated(random: Random) -> SimulatedServer:
    expected = random.choice(
        ({"temperature": 0.5}, {"tools": ["search"]}, {"reasoning": "enabled"})
    )
    server = server_with_clean_runs(random, answers("Hello.", expect=expected))
    client_with_question(server, random.choice((OpenAI, Anthropic, Ollama))(), random).send_step()
    return server


def unserved(random: Random) -> SimulatedServer:
    server = server_with_clean_runs(random, *(answers(f"Answer {n}.") for n in range(3)))
    client = client_with_question(server, random.choice(DIALECTS)(), random)
    for _ in range(random.randint(0, 2)):
        client.send_step()
        client.conversation.add_user_message("And then?")
    return server


# Keys are the rule or the part of the verdict that has to report the fault.
CLIENT_FAULTS: Mapping[str, Callable[[Random], SimulatedServer]] = {
    "retry-after-ignored": retry_after_ignored,
    "no-back-off": no_back_off,
    "retried-unretryable": retried_unretryable,
    "retries-undecided": retries_undecided,
    "truncated-taken-as-complete": truncated_taken_as_complete,
    "stream-closed-early": stream_closed_early,
    "usage-unread": usage_unread,
    "tool-result-missing": tool_result_missing,
    "tool-result-unknown": tool_result_unknown,
    "tool-arguments-outside-schema": tool_arguments_outside_schema,
    "tool-not-offered": tool_not_offered,
    "prompt-cache-broken": prompt_cache_broken,
    "input-not-resent": input_not_resent,
    "tool-output-lost": tool_output_lost,
    "too-many-reconnects": too_many_reconnects,
}
SCENARIO_FAULTS: Mapping[str, Callable[[Random], SimulatedServer]] = {
    "unmatched": unmatched,
    "caught by the catch-all": answered_by_catch_all,
    "violations": violated,
    "unserved": unserved,
}
