"""A pipeline that needs no database, scenario documents for it, and calls to it."""

import json
from collections.abc import Mapping
from typing import Any, Literal, NamedTuple, TypeAlias
from urllib.parse import parse_qsl, quote

from scenarios_app.engine.canonical import Json
from scenarios_app.engine.document import compile_scenario, load_documents
from scenarios_app.engine.journal_entry import RawEntry
from scenarios_app.engine.matching.index import Index, build_index, overlay
from scenarios_app.engine.memory import MemoryState
from scenarios_app.serving.exchange import RequestHead, head_of
from scenarios_app.serving.explain import Explanation, explain
from scenarios_app.serving.fast.direct import FastLayer
from scenarios_app.serving.fast.short_path import PlainAnswer, ShortPath, is_plain_head
from scenarios_app.serving.options import Options
from scenarios_app.serving.pipeline import Pipeline
from scenarios_app.serving.reply import Reply
from scenarios_app.wire.base import Call

FROZEN = 1_735_689_600
KEY = "sk-test"


class DocumentCatalog:
    """A catalog of scenario documents."""

    def __init__(self, *documents: Mapping[str, Any]) -> None:
        parsed_documents = load_documents({"scenarios": list(documents)})
        self.index = build_index([compile_scenario(document) for document in parsed_documents])

    def index_for(self, documents: Mapping[str, Json], version: int) -> Index:
        session_scenarios = [d for document in documents.values() for d in load_documents(document)]
        return (
            overlay(self.index, map(compile_scenario, session_scenarios))
            if session_scenarios
            else self.index
        )


# How the layer gave an answer: filled into a template at once, encoded or paced, or not at all.
Way: TypeAlias = Literal["template", "short path", "pipeline"]


class FastAnswer(NamedTuple):
    """An answer of the short path or the pipeline; `body` is what was sent."""

    reply: Reply
    body: bytes
    way: Way


class Harness:
    """A pipeline with its in-memory state and its layer for speed; `journal` lists the entries of
    its answers."""

    def __init__(self, *documents: Mapping[str, Any], **options: Any) -> None:
        self.state = MemoryState()
        self.journal: list[RawEntry] = []
        self.options = Options(**{"clock": FROZEN, **options})
        self.catalog = DocumentCatalog(*documents)
        self.pipeline = Pipeline(
            catalog=self.catalog,
            state=self.state,
            options=self.options,
            record=self.journal.append,
        )
        self.layer = FastLayer(lambda: self.pipeline)

    @property
    def short_path(self) -> ShortPath:
        path = self.layer.short_path(self.pipeline)
        assert path is not None
        return path

    async def ask(self, call: Call) -> tuple[int, dict[str, str], bytes]:
        """Play the answer to a call to its end and return its status, headers and body."""
        answer = await self.pipeline.answer(call)
        body = b"".join([piece async for piece in answer.pieces()])
        return answer.reply.status, dict(answer.reply.headers), body

    async def ask_fast(self, call: Call, head: RequestHead | None = None) -> FastAnswer:
        """Play the answer to a call to its end, on the short path if that takes it."""
        head = head or head_of(call)
        answer = self.short_path.answer(head, call) if is_plain_head(head, call) else None
        if isinstance(answer, PlainAnswer):
            reply = answer.template.render(answer.values)
            return FastAnswer(reply, reply.body, "template")
        way: Way = "pipeline" if answer is None else "short path"
        if answer is None:
            answer = await self.pipeline.answer(call, head)
        reply = answer.reply
        return FastAnswer(reply, b"".join([piece async for piece in answer.pieces()]), way)

    async def explain(self, call: Call, **options: int) -> Explanation:
        """Explain a call in the current state of its session."""
        state, session = self.state, self.pipeline.new_exchange(call).session
        snapshot = MemoryState.of_session(
            await state.read(session),
            await state.scenarios_of(session),
            await state.recall_responses(session, ""),
        )
        catalog = self.catalog
        return await explain(call, catalog=catalog, state=snapshot, options=self.options, **options)

    async def running(self) -> Pipeline:
        return self.pipeline


def scenario(name: str, *steps: Mapping[str, Any], **keys: Any) -> dict[str, Any]:
    """Return a scenario document."""
    return {"name": name, **keys, "steps": list(steps)}


def text_step(text: str, **keys: Any) -> dict[str, Any]:
    """Return a step that answers with a text and is not consumed."""
    return {"consume": False, "produce": {"text": text}, **keys}


def chat(text: str = "Hello", *, model: str = "gpt-4o", **fields: Any) -> Call:
    """Return an OpenAI chat call; `headers` are sent besides the key."""
    headers = {"authorization": f"Bearer {KEY}", **fields.pop("headers", {})}
    messages = [{"role": "user", "content": text}]
    body = {"model": model, "messages": messages, **fields}
    return Call("POST", "/v1/chat/completions", {}, headers, json.dumps(body).encode())


def gemini(
    text: str = "Hello", *, model: str = "gemini-2.5-flash", stream: bool = False, **fields: Any
) -> Call:
    """Return a Gemini call from the arguments of the other providers.

    Messages become contents and settings a configuration. The path selects a stream.
    """
    headers = {"x-goog-api-key": KEY, **fields.pop("headers", {})}
    messages = fields.pop("messages", [{"role": "user", "content": text}])
    roles = {"user": "user", "assistant": "model"}
    contents = [
        {
            "role": roles[message["role"]],
            "parts": {"text": message["content"]}
            if isinstance(message["content"], str)
            else message["content"],
        }
        for message in messages
    ]
    settings = {
        "temperature": "temperature",
        "top_p": "topP",
        "max_tokens": "maxOutputTokens",
        "n": "candidateCount",
        "thinking": "thinkingConfig",
    }
    config = {settings[key]: fields.pop(key) for key in [*fields] if key in settings}
    if system := fields.pop("system", ""):
        fields["systemInstruction"] = {"parts": [{"text": system}]}
    body = {"contents": contents, "generationConfig": config, **fields}
    verb, query = ("streamGenerateContent", "alt=sse") if stream else ("generateContent", "")
    path = f"/v1beta/models/{quote(model, safe='')}:{verb}"
    data = json.dumps(body).encode()
    return Call("POST", path, dict(parse_qsl(query)), headers, data, query)


def responses(text: str = "Hello", *, model: str = "gpt-4o", **fields: Any) -> Call:
    """Return a call of OpenAI's Responses; messages become its input."""
    headers = {"authorization": f"Bearer {KEY}", **fields.pop("headers", {})}
    body = {"model": model, "input": fields.pop("messages", text), **fields}
    return Call("POST", "/v1/responses", {}, headers, json.dumps(body).encode())


def llama(text: str = "Hello", *, model: str = "llama3.2", **fields: Any) -> Call:
    """Return an Ollama chat call; settings become its `options`."""
    headers = {"authorization": f"Bearer {KEY}", **fields.pop("headers", {})}
    messages = [{"role": "user", "content": text}]
    settings = {"temperature": "temperature", "top_p": "top_p", "max_tokens": "num_predict"}
    options = {settings[key]: fields.pop(key) for key in [*fields] if key in settings}
    body = {"model": model, "messages": messages, "options": options, **fields}
    return Call("POST", "/api/chat", {}, headers, json.dumps(body).encode())


def claude(text: str = "Hello", *, model: str = "claude-sonnet-4-5", **fields: Any) -> Call:
    """Return an Anthropic messages call."""
    headers = {
        "x-api-key": KEY,
        "anthropic-version": "2023-06-01",
        **fields.pop("headers", {}),
    }
    messages = [{"role": "user", "content": text}]
    body = {"model": model, "max_tokens": 100, "messages": messages, **fields}
    return Call("POST", "/v1/messages", {}, headers, json.dumps(body).encode())
