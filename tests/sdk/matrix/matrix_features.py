"""The rows of the matrix: everything that can be scripted, with the expected messages."""

from typing import Any

from scenarios_app.engine.parts import ReasoningPart, TextPart
from scenarios_app.engine.producing.lorem import lorem_answer
from tests.engine.turn_scripts import script, tool_call_response, turn
from tests.engine.turn_scripts import text_response as text_answer
from tests.sdk.matrix.matrix_client import MatrixClient
from tests.sdk.matrix.matrix_faults import faults
from tests.sdk.matrix.matrix_messages import (
    Call,
    Message,
    Reasoning,
    Refusal,
    Text,
    Usage,
)
from tests.sdk.matrix.matrix_rows import WORDS, Feature, response_scenario, text_messages
from tests.serving.modes import with_marks

UNICODE = (
    'Grüße, 你好, नमस्ते, שלום 🙂 e\u0301 “x”\u2028line\u2029para\x85 \\ " / <b> &amp;\ttab\nend'
)
WEATHER = Call("get_weather", {"city": "Zürich", "days": [1, 2], "deep": {"a": None}}, "call-w")
TIME = Call("get_time", {}, "call-t")
BROKEN_ARGUMENTS = '{"city": "Par'
REPORT = {"status": "success", "report_format": "markdown", "report_content": "# Done\n\nAll ü."}
LOREM = "Hello there\nReason: to see it"


def call_document(call: Call) -> dict[str, Any]:
    return {"id": call.id, "name": call.name, "arguments": call.arguments}


def answer_features() -> list[Feature]:
    """Return features of answers: their parts, finish reasons, usage and timing."""
    call_documents = tuple(map(call_document, (WEATHER, TIME)))
    return [
        Feature("text", text_messages("Hello, how are you?"), {"text": "Hello, how are you?"}),
        Feature("unicode text", text_messages(UNICODE), {"text": UNICODE}),
        Feature(
            "reasoning",
            (Message((Reasoning("First I think."), Text("Then I speak."))),),
            {"reasoning": "First I think.", "text": "Then I speak."},
        ),
        Feature(
            "reasoning with a signature",
            (Message((Reasoning("I think.", signature="sig–1"), Text("I speak."))),),
            {"reasoning": [{"text": "I think.", "signature": "sig–1"}], "text": "I speak."},
        ),
        Feature(
            "encrypted reasoning",
            (Message((Reasoning("", redacted="verschlüsselt!"), Text("I speak."))),),
            {"reasoning": [{"text": "", "redacted": "verschlüsselt!"}], "text": "I speak."},
        ),
        Feature(
            "one tool call",
            (Message((WEATHER,), "tool_calls"),),
            {"tool_calls": [call_document(WEATHER)]},
        ),
        Feature(
            "parallel tool calls",
            (Message((WEATHER, TIME), "tool_calls"),),
            {"tool_calls": list(call_documents)},
        ),
        Feature(
            "text and tool calls",
            (Message((Text("Let me look."), WEATHER, TIME), "tool_calls"),),
            {"text": "Let me look.", "tool_calls": list(call_documents)},
        ),
        Feature(
            "parts in an order of their own",
            (Message((Reasoning("Hm."), WEATHER, Text("Meanwhile.")), "tool_calls"),),
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
            (Message((Call("get_weather", BROKEN_ARGUMENTS, "call-b"),), "tool_calls"),),
            {
                "tool_calls": [
                    {"id": "call-b", "name": "get_weather", "arguments": BROKEN_ARGUMENTS}
                ]
            },
        ),
        Feature(
            "several choices",
            (*text_messages("Heads."), *text_messages("Tails", finish="length")),
            {"choices": [{"text": "Heads."}, {"text": "Tails", "finish_reason": "length"}]},
        ),
        Feature("refusal", (Message((Refusal("I won't."),)),), {"refusal": "I won't."}),
        Feature(
            "length finish",
            text_messages("Too lo", finish="length"),
            {"text": "Too lo", "finish_reason": "length"},
        ),
        Feature(
            "stop-sequence finish",
            text_messages("Up to", finish="stop_sequence", stop="END"),
            {"text": "Up to", "finish_reason": "stop_sequence", "stop_sequence": "END"},
        ),
        Feature(
            "filtered finish",
            text_messages("Half of", finish="content_filter"),
            {"text": "Half of", "finish_reason": "content_filter"},
        ),
        Feature(
            "usage",
            (Message((Reasoning("Hm."), Text("Counted."))),),
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
            (Message((Call("agent__final_report", REPORT, "agent-final-report"),), "tool_calls"),),
            {"final_report": REPORT},
        ),
        Feature("latency", text_messages("Late."), {"text": "Late.", "latency_ms": 20}),
        Feature("no latency", text_messages("At once."), {"text": "At once.", "latency_ms": 0}),
        Feature(
            "pacing",
            text_messages(WORDS),
            {"text": WORDS, "pacing": {"chunk_ms": 2, "words_per_chunk": 1, "first_ms": 5}},
            pieces=("one", " two", " three", " four", " five"),
        ),
        Feature(
            "explicit chunks",
            text_messages("One, two; three."),
            {"chunks": ["One", ", two;", " ", "three."]},
            pieces=("One", ", two;", " ", "three."),
        ),
    ]


def generated_features() -> list[Feature]:
    """Return features whose text is generated or comes from other formats."""
    (lorem,) = lorem_answer(LOREM).choices
    lorem_parts = tuple(
        Reasoning(part.text) if isinstance(part, ReasoningPart) else Text(part.text)
        for part in lorem.parts
        if isinstance(part, ReasoningPart | TextPart)
    )
    block = with_marks(
        {
            "messages": [
                {"text": "First."},
                {"tool_call": [{"name": WEATHER.name, "args": WEATHER.arguments}]},
                {"text": "Last."},
            ]
        }
    )
    call = {"toolName": WEATHER.name, "callId": WEATHER.id, "arguments": WEATHER.arguments}
    run = script(
        turn(tool_call_response(call, assistantText="Let me look.", reasoningContent="Hm.")),
        turn(text_answer("It is sunny."), 2),
        id="a run in the matrix",
    )
    call_without_id = Call(WEATHER.name, WEATHER.arguments, None)
    first_turn = Message((Reasoning("Hm."), Text("Let me look."), WEATHER), "tool_calls")
    history = (("user", run["id"]), ("assistant", "Let me look."))
    return [
        Feature(
            "lorem",
            (Message(lorem_parts),),
            {"generate": {"kind": "lorem"}, "pacing": {"words_per_second": 100_000}},
            custom_prompt=LOREM,
        ),
        Feature(
            "instruction block",
            (
                *text_messages("First."),
                Message((call_without_id,), "tool_calls"),
                *text_messages("Last."),
            ),
            custom_prompt=block,
            alternatives=False,
        ),
        Feature("turn script", (first_turn,), documents=(run,), custom_prompt=run["id"]),
        Feature(
            "turn script, second turn",
            text_messages("It is sunny."),
            documents=(run,),
            custom_prompt="go on",
            history=history,
        ),
    ]


def raw_feature(client: MatrixClient) -> Feature:
    """Return the feature of a raw response in the format of the client's wire."""
    text = f"Raw – from {client.route}."
    produce = {
        "non_streaming": {"raw": {"body": client.native_body(text)}},
        "streaming": {
            "raw": {
                "headers": {"content-type": client.stream_type},
                "body": client.native_stream(text),
            }
        },
    }
    prompt = f"the matrix asks for raw {client.route}"
    document = response_scenario(f"raw {client.route}", prompt, produce, path=client.route)
    return Feature("raw", text_messages(text), documents=(document,), custom_prompt=prompt)


def features(client: MatrixClient) -> list[Feature]:
    return [*answer_features(), *generated_features(), *faults(), raw_feature(client)]
