"""Random scripts and requests: each script that loads is answered without an internal error."""

import asyncio
import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.engine.turn_scripts import SCRIPTS
from tests.serving.dialects import DIALECTS
from tests.serving.modes import WIRES, WireName
from tests.serving.pipelines import Harness
from tests.serving.turn_scripts.turns import MODEL, THINKING, turn_request

SLOW_ALLOWED = settings(
    deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)
FIELDS = st.fixed_dictionaries(
    {"turn": st.integers(1, 4), "stream": st.booleans()},
    optional={
        "temperature": st.sampled_from([0, 0.5, 1]),
        "top_p": st.sampled_from([0.5, 1]),
        "tools": st.lists(st.text("ab_ <|>", min_size=1, max_size=5), max_size=2).map(tuple),
        "system": st.text(max_size=8),
        "model": st.sampled_from(["gpt-4o", MODEL]),
    },
)


@pytest.mark.parametrize("wire", WIRES)
@SLOW_ALLOWED
@given(st.data())
def test_generated_scripts_never_break_the_pipeline(wire: WireName, data: Any) -> None:
    scripts = data.draw(st.lists(SCRIPTS, max_size=2, unique_by=lambda script: script["id"]))
    ids = [script["id"] for script in scripts]
    harness = Harness(*scripts)
    for _ in range(2):
        fields = data.draw(FIELDS)
        if data.draw(st.booleans()):
            fields |= THINKING[wire]
        user_text = data.draw(st.sampled_from([*ids, "nobody"]))
        asyncio.run(assert_answered(harness, turn_request(wire, user_text, **fields)))


async def assert_answered(harness: Harness, call: Any) -> None:
    # Played without its pauses: a timeout would hold for half a minute.
    answer = await harness.pipeline.answer(call)
    reply = answer.reply
    answer.finish()
    (entry,) = harness.journal[-1:]
    assert reply.status == 200 or entry.outcome in ("fault", "unmatched"), reply.body
    if reply.started and entry.outcome == "complete" and not reply.streaming:
        json.loads(reply.body)
    if reply.streaming and entry.outcome == "complete":
        assert reply.body.endswith(tuple(dialect.end for dialect in DIALECTS.values()))
