"""The same requests give the same bytes in every process, whatever its hash seed, time zone and
locale."""

import json
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx2

from scenarios_app.testing.server import running_server
from tests.hostile.provider_requests import (
    ANTHROPIC,
    CHAT,
    COMPLETIONS,
    COUNT,
    GEMINI,
    LOCAL,
    MESSAGES,
    OLLAMA,
    OPENAI,
    RESPONSES,
)
from tests.serving import openai_endpoints
from tests.serving.pipelines import scenario

# Headers that differ for every answer.
CHANGING = {"date", "x-mockllm-request"}
# Environments of the processes that get the same requests.
ENVIRONMENTS: dict[str, dict[str, str]] = {
    "one hash seed": {"PYTHONHASHSEED": "0"},
    "another hash seed": {"PYTHONHASHSEED": "4242"},
    "another time zone": {"TZ": "Pacific/Kiritimati"},
    # This locale makes text ASCII, so encodings must be explicit.
    "another locale": {"LC_ALL": "POSIX", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"},
}
TOOLS = [
    {"name": f"tool_{i}", "arguments": {"b": i, "a": [i], "c": {"z": 1, "y": 2}}} for i in (1, 2)
]
SCENARIOS: list[dict[str, Any]] = [
    scenario(
        "text", {"match": {"model": "text"}, "consume": False, "produce": {"text": "Hi äé🙂."}}
    ),
    scenario(
        "tools",
        {
            "match": {"model": "tools"},
            "consume": False,
            "produce": {"reasoning": "Hm, hm, hm.", "text": "Look.", "tool_calls": TOOLS},
        },
    ),
    scenario(
        "jitter",
        {
            "match": {"model": "jitter"},
            "consume": False,
            "produce": {
                "text": "one two three four five six seven",
                "pacing": {"chunk_ms": 1, "words_per_chunk": 1, "jitter": 0.9},
            },
        },
    ),
    scenario("once", {"match": {"model": "once"}, "produce": {"text": "Once."}}),
    scenario(
        "limited",
        {"match": {"model": "limited"}, "produce": {"fault": {"kind": "rate_limit"}}},
    ),
    scenario(
        "templated",
        {
            "match": {"messages": [{"regex": "(?P<a>\\w+) and (?P<b>\\w+)"}]},
            "consume": False,
            "produce": {"text": "{{ match.b }}, {{ match.a }}, {{ request.model }}"},
        },
    ),
    *openai_endpoints.SCENARIOS,
]
MODELS = ("text", "tools", "jitter", "once", "once", "limited", "templated", "nobody")


def record_answers(settings: dict[str, str]) -> list[tuple[int, list[tuple[str, str]], bytes]]:
    """Return the answers of a server process to all requests."""
    answers = []
    with (
        running_server(scenarios=SCENARIOS, settings=settings) as server,
        httpx2.Client(base_url=server.base_url, trust_env=False, timeout=30) as client,
    ):
        for method, path, headers, body in sample_requests():
            response = client.request(method, path, headers=headers, content=body)
            stable_headers = [(k, v) for k, v in response.headers.items() if k not in CHANGING]
            answers.append((response.status_code, stable_headers, response.content))
    return answers


def sample_requests() -> list[tuple[str, str, dict[str, str], bytes]]:
    """Return method, path, headers and body of each request."""
    requests = []
    for model in MODELS:
        for path, headers in ((CHAT, OPENAI), (MESSAGES, ANTHROPIC), (LOCAL, OLLAMA)):
            for stream in (False, True):
                body = {
                    "model": model,
                    "max_tokens": 9,
                    "stream": stream,
                    "messages": [{"role": "user", "content": "you and me"}],
                }
                requests.append(("POST", path, headers, json.dumps(body).encode()))
        for path, prompt in ((RESPONSES, "input"), (COMPLETIONS, "prompt")):
            for stream in (False, True):
                body = {"model": model, "stream": stream, prompt: "you and me"}
                requests.append(("POST", path, OPENAI, json.dumps(body).encode()))
        gemini_body = json.dumps({"contents": [{"parts": [{"text": "you and me"}]}]}).encode()
        for verb in ("generateContent", "streamGenerateContent", "streamGenerateContent?alt=sse"):
            requests.append(("POST", f"/v1beta/models/{model}:{verb}", GEMINI, gemini_body))
    requests += [
        ("POST", call.path, dict(call.headers), call.body)
        for call in openai_endpoints.calls().values()
    ]
    requests.append(("POST", COUNT, ANTHROPIC, requests[0][3]))
    requests.append(("POST", CHAT, OPENAI, b"{"))
    requests.append(("POST", CHAT, {}, b"{}"))
    requests += [
        ("GET", path, OPENAI, b"") for path in ("/v1/models", "/v1/models/gpt-4o", "/v1/x")
    ]
    requests += [("GET", path, ANTHROPIC, b"") for path in ("/v1/models", "/v1/models/x")]
    requests += [("GET", f"/v1beta/{path}", GEMINI, b"") for path in ("models", "models/x", "x")]
    embed_body = json.dumps({"content": {"parts": [{"text": "a ü"}]}}).encode()
    requests.append(("POST", "/v1/models/text-embedding-004:embedContent", GEMINI, embed_body))
    requests += [("GET", path, OLLAMA, b"") for path in ("/api/tags", "/api/version")]
    extra_bodies = [("show", {"model": "llama3.2"}), ("embed", {"model": "m", "input": ["a", "ü"]})]
    requests += [
        ("POST", f"/api/{name}", OLLAMA, json.dumps(body).encode())
        for name, body in (*extra_bodies, ("generate", {"model": "text", "prompt": "Hello"}))
    ]
    return requests


def test_every_process_gives_the_same_bytes() -> None:
    with ThreadPoolExecutor(2) as pool:
        reference, *others = pool.map(record_answers, ENVIRONMENTS.values())
    assert len(reference) == len(sample_requests())
    for name, answers in zip([*ENVIRONMENTS][1:], others, strict=True):
        for request, first, second in zip(sample_requests(), reference, answers, strict=True):
            assert first == second, (name, request)
    assert {status for status, _, _ in reference} == {200, 400, 401, 404, 429}
