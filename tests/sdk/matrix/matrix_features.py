"""What can be scripted, each with what it means: the rows of the matrix."""

from typing import Any

from scenarios_app.engine.parts import ReasoningPart, TextPart
from scenarios_app.engine.producing.lorem import lorem_answer
from tests.engine.turn_scripts import calls, script, turn
from tests.engine.turn_scripts import says as says_in_turn
from tests.sdk.matrix.matrix_client import Client
from tests.sdk.matrix.matrix_faults import faults
from tests.sdk.matrix.matrix_rows import WORDS, Feature, answering, says
from tests.sdk.matrix.matrix_said import (
    Call,
    Refusal,
    Said,
    Text,
    Thought,
    Usage,
)
from tests.serving.modes import marked

UNICODE = (
    'Grüße, 你好, नमस्ते, שלום 🙂 e\u0301 “x”\u2028line\u2029para\x85 \\ " / <b> &amp;\ttab\nend'
)
WEATHER = Call("get_weather", {"city": "Zürich", "days": [1, 2], "deep": {"a": None}}, "call-w")
TIME = Call("get_time", {}, "call-t")
BROKEN = '{"city": "Par'
REPORT = {"status": "success", "report_format": "markdown", "report_content": "# Done\n\nAll ü."}
LOREM = "Hello there\nReason: to see it"


def call_document(call: Call) -> dict[str, Any]:
    return {"id": call.id, "name": call.name, "arguments": call.arguments}


def answers() -> list[Feature]:
    """Everything that an answer can say, and how it can end."""
    calling = tuple(map(call_document, (WEATHER, TIME)))
    return [
        Feature("text", says("Hello, how are you?"), {"text": "Hello, how are you?"}),
        Feature("unicode text", says(UNICODE), {"text": UNICODE}),
        Feature(
            "reasoning",
            (Said((Thought("First I think."), Text("Then I speak."))),),
            {"reasoning": "First I think.", "text": "Then I speak."},
        ),
        Feature(
            "reasoning with a signature",
            (Said((Thought("I think.", signature="sig–1"), Text("I speak."))),),
            {"reasoning": [{"text": "I think.", "signature": "sig–1"}], "text": "I speak."},
        ),
        Feature(
            "encrypted reasoning",
            (Said((Thought("", redacted="verschlüsselt!"), Text("I speak."))),),
            {"reasoning": [{"text": "", "redacted": "verschlüsselt!"}], "text": "I speak."},
        ),
        Feature(
            "one tool call",
            (Said((WEATHER,), "tool_calls"),),
            {"tool_calls": [call_document(WEATHER)]},
        ),
        Feature(
            "parallel tool calls",
            (Said((WEATHER, TIME), "tool_calls"),),
            {"tool_calls": list(calling)},
        ),
        Feature(
            "text and tool calls",
            (Said((Text("Let me look."), WEATHER, TIME), "tool_calls"),),
            {"text": "Let me look.", "tool_calls": list(calling)},
        ),
        Feature(
            "parts in an order of their own",
            (Said((Thought("Hm."), WEATHER, Text("Meanwhile.")), "tool_calls"),),
            {
                "parts": [
                    {"reasoning": "Hm."},
                    {"tool_call": call_document(WEATHER)},
                    {"text": "Meanwhile."},
                ]
            },
        ),
        Feature(
            "broken arguments",
            (Said((Call("get_weather", BROKEN, "call-b"),), "tool_calls"),),
            {"tool_calls": [{"id": "call-b", "name": "get_weather", "arguments": BROKEN}]},
        ),
        Feature(
            "several choices",
            (*says("Heads."), *says("Tails", finish="length")),
            {"choices": [{"text": "Heads."}, {"text": "Tails", "finish_reason": "length"}]},
        ),
        Feature("refusal", (Said((Refusal("I won't."),)),), {"refusal": "I won't."}),
        Feature(
            "length finish",
            says("Too lo", finish="length"),
            {"text": "Too lo", "finish_reason": "length"},
        ),
        Feature(
            "stop-sequence finish",
            says("Up to", finish="stop_sequence", stop="END"),
            {"text": "Up to", "finish_reason": "stop_sequence", "stop_sequence": "END"},
        ),
        Feature(
            "filtered finish",
            says("Half of", finish="content_filter"),
            {"text": "Half of", "finish_reason": "content_filter"},
        ),
        Feature(
            "usage",
            (Said((Thought("Hm."), Text("Counted."))),),
            {
                "reasoning": "Hm.",
                "text": "Counted.",
                "usage": {
                    "input_tokens": 640,
                    "output_tokens": 320,
                    "reasoning_tokens": 20,
                    "cached_tokens": 100,
                },
            },
            usage=Usage(640, 320, reasoning=20, cached=100),
        ),
        Feature(
            "final report",
            (Said((Call("agent__final_report", REPORT, "agent-final-report"),), "tool_calls"),),
            {"final_report": REPORT},
        ),
        Feature("latency", says("Late."), {"text": "Late.", "latency_ms": 20}),
        Feature("no latency", says("At once."), {"text": "At once.", "latency_ms": 0}),
        Feature(
            "pacing",
            says(WORDS),
            {"text": WORDS, "pacing": {"chunk_ms": 2, "words_per_chunk": 1, "first_ms": 5}},
            pieces=("one", " two", " three", " four", " five"),
        ),
        Feature(
            "explicit chunks",
            says("One, two; three."),
            {"chunks": ["One", ", two;", " ", "three."]},
            pieces=("One", ", two;", " ", "three."),
        ),
    ]


def generated() -> list[Feature]:
    """What nobody has to write word by word."""
    (lorem,) = lorem_answer(LOREM).choices
    said = tuple(
        Thought(part.text) if isinstance(part, ReasoningPart) else Text(part.text)
        for part in lorem.parts
        if isinstance(part, ReasoningPart | TextPart)
    )
    block = marked(
        {
            "messages": [
                {"text": "First."},
                {"tool_call": [{"name": WEATHER.name, "args": WEATHER.arguments}]},
                {"text": "Last."},
            ]
        }
    )
    looked = {"toolName": WEATHER.name, "callId": WEATHER.id, "arguments": WEATHER.arguments}
    run = script(
        turn(calls(looked, assistantText="Let me look.", reasoningContent="Hm.")),
        turn(says_in_turn("It is sunny."), 2),
        id="a run in the matrix",
    )
    looking = Call(WEATHER.name, WEATHER.arguments, None)
    first = Said((Thought("Hm."), Text("Let me look."), WEATHER), "tool_calls")
    went = (("user", run["id"]), ("assistant", "Let me look."))
    return [
        Feature(
            "lorem",
            (Said(said),),
            {"generate": {"kind": "lorem"}, "pacing": {"words_per_second": 100_000}},
            said=LOREM,
        ),
        Feature(
            "instruction block",
            (*says("First."), Said((looking,), "tool_calls"), *says("Last.")),
            said=block,
            alternatives=False,
        ),
        Feature("turn script", (first,), documents=(run,), said=run["id"]),
        Feature(
            "turn script, second turn",
            says("It is sunny."),
            documents=(run,),
            said="go on",
            history=went,
        ),
    ]


def raw(client: Client) -> Feature:
    """An answer of scripted bytes, which are every wire's own."""
    text = f"Raw – from {client.route}."
    produce = {
        "non_streaming": {"raw": {"body": client.native(text)}},
        "streaming": {
            "raw": {
                "headers": {"content-type": client.stream_type},
                "body": client.native_stream(text),
            }
        },
    }
    said = f"the matrix asks for raw {client.route}"
    document = answering(f"raw {client.route}", said, produce, path=client.route)
    return Feature("raw", says(text), documents=(document,), said=said)


def features(client: Client) -> list[Feature]:
    return [*answers(), *generated(), *faults(), raw(client)]
