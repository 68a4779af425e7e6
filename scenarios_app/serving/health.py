"""One built-in step played through the pipeline end to end, for /healthz and for warming up."""

import json
from collections.abc import Mapping

from scenarios_app.engine.canonical import Json
from scenarios_app.engine.matching.index import Index, build_index
from scenarios_app.engine.memory import MemoryState
from scenarios_app.engine.parts import TextPart
from scenarios_app.engine.scenario import Produce, Scenario, ScriptedAnswer, ScriptedChoice, Step
from scenarios_app.serving.options import Options
from scenarios_app.serving.pipeline import Pipeline
from scenarios_app.wire.base import Call

TEXT = "healthy"
HEADERS = {"authorization": "Bearer healthz", "anthropic-version": "2023-06-01"}
PATHS = ("/v1/chat/completions", "/v1/responses", "/v1/messages")


def _scenario() -> Scenario:
    answer = ScriptedAnswer(choices=(ScriptedChoice((TextPart(TEXT),)),))
    produce = Produce(streaming=answer, non_streaming=answer)
    return Scenario("healthz", (Step("healthz", "1", produce=produce),))


class _BuiltIn:
    """A catalog of that one scenario."""

    def __init__(self) -> None:
        self._index = build_index([_scenario()])

    def index_for(self, documents: Mapping[str, Json], version: int) -> Index:
        return self._index


BUILT_IN = _BuiltIn()


async def play_built_in(options: Options) -> str | None:
    """What is wrong with the pipeline, if anything. It leaves no trace in state or journal."""
    for path in PATHS:
        for stream in (False, True):
            pipeline = Pipeline(catalog=BUILT_IN, state=MemoryState(), options=options)
            try:
                answer = await pipeline.answer(_call(path, stream=stream))
                body = b"".join([piece async for piece in answer.pieces()])
            except Exception as error:
                return f"{path}: {type(error).__name__}: {error}"
            if answer.reply.status != 200 or TEXT.encode() not in body:
                return f"{path}: status {answer.reply.status}"
    return None


def _call(path: str, *, stream: bool) -> Call:
    messages = [{"role": "user", "content": "Are you there?"}]
    body = {"model": "healthz", "max_tokens": 1, "messages": messages, "stream": stream}
    return Call("POST", path, {}, HEADERS, json.dumps(body).encode())
