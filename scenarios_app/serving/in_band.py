"""Way 1: a request that says itself what answers it. And where streams of test mode break off."""

import json
from dataclasses import replace
from functools import partial
from urllib.parse import urlencode

from scenarios_app.engine.canonical import CanonicalRequest
from scenarios_app.engine.errors import ErrorAnswer
from scenarios_app.engine.instructions import instructed
from scenarios_app.engine.probes import Received
from scenarios_app.engine.produce import scripted_answer
from scenarios_app.engine.scenario import GeneratedAnswer
from scenarios_app.engine.select import BY_ID_MODELS, Decision
from scenarios_app.redaction import QUERY, redact_headers, redact_query
from scenarios_app.serving.options import Options
from scenarios_app.serving.selecting import Chosen
from scenarios_app.wire.base import Call
from scenarios_app.wire.errors import WireError


def choose_in_band(call: Call, request: CanonicalRequest, options: Options) -> Chosen | None:
    """What an instruction block in the request asks for; raises WireError for a wrong one."""
    if not options.inband or request.model.startswith(BY_ID_MODELS):
        return None
    found = instructed(request, partial(received, call), max_text_bytes=options.max_text_bytes)
    if isinstance(found, ErrorAnswer):
        raise WireError(found.status, found.message, param=found.param)
    if found is None:
        return None
    own, common = found.cancel_after_chunks, options.cancel_after_chunks
    return Chosen(
        "in_band",
        "in_band",
        Decision(),
        text=found.label,
        scripted=found.answer,
        cancel_after_chunks=common if own is None else own,
    )


def with_cancel(chosen: Chosen, options: Options) -> Chosen:
    """A choice whose stream breaks off where the settings say, if it is a generated one. A fault
    that its step scripts goes before."""
    step = chosen.decision.step
    if options.cancel_after_chunks is None or chosen.kind != "step" or step is None:
        return chosen
    generated = isinstance(scripted_answer(step.produce, stream=True), GeneratedAnswer)
    if not generated or step.produce.fault is not None:
        return chosen
    return replace(chosen, cancel_after_chunks=options.cancel_after_chunks)


def received(call: Call) -> Received:
    """A call as it came, but for its secrets."""
    query = call.raw_query
    if QUERY & {name.lower() for name in call.query}:
        query = urlencode(redact_query(call.query), safe="*")
    return Received(
        url=f"{call.path}?{query}" if query else call.path,
        headers=redact_headers(call.headers.items()),
        body=json.loads(call.body),
    )
