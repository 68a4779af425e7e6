"""Decides about requests of a recorded session that no scenario answers: forward to the upstream,
or count as a miss."""

from typing import Final

from scenarios_app.engine.matching.near_misses import unmatched_message
from scenarios_app.engine.matching.select import Decision
from scenarios_app.recording import Interaction, RecordedRequest, RecordedResponse
from scenarios_app.recording.redaction import redact_interaction
from scenarios_app.recording.upstreams import NotForwarded, find_upstream_path, find_upstream_url
from scenarios_app.serving.exchange import Exchange
from scenarios_app.serving.recorder.recordings import MissedRequest, Recording
from scenarios_app.serving.recorder.upstream import Outgoing, make_outgoing
from scenarios_app.wire.base import Call

# Errors of this server's own limits, which hold for forwarded requests too.
OURS_ALONE: Final = frozenset({413, 421, 431, 503})


class UpstreamNeeded(Exception):
    """Raised if the upstream has to answer the request; the catcher sends it as `out`."""

    def __init__(self, out: Outgoing) -> None:
        super().__init__(out.place)
        self.out = out


def replay_or_forward(exchange: Exchange, recording: Recording, decision: Decision) -> Decision:
    """Return the decision, and note in the recording that its step was served. Without a match,
    the catch-all's included, raise UpstreamNeeded, or record a miss and return an unmatched
    decision if nothing is forwarded."""
    if decision.kind == "unmatched":
        forward_or_miss(exchange, recording)
    elif decision.fallback:
        near = decision.near_misses
        forward_or_miss(exchange, recording)
        return Decision("unmatched", "match", near_misses=near, text=unmatched_message(near))
    elif decision.scenario is not None and decision.step is not None:
        recording.serve(decision.scenario.name, decision.step.label)
    return decision


def forward_or_miss(exchange: Exchange, recording: Recording) -> Decision:
    """Raise UpstreamNeeded if the recording forwards and the call has an upstream. Otherwise note
    the miss in the recording and return an unmatched decision."""
    call, wire, options = exchange.call, exchange.wire, exchange.options
    name, url, refusal = find_upstream_path(call)[0], "", ""
    try:
        name, url = find_upstream_url(
            call, recording.upstreams or options.upstreams, paths=options.upstream_paths
        )
    except NotForwarded as error:
        refusal = str(error)
    if recording.records and url:
        key = wire.api_key(call)
        real = recording.keys.get(name, recording.keys.get(wire.provider))
        raise UpstreamNeeded(make_outgoing(call, name=name, url=url, key=key, real=real))
    if recording.records:
        reason = f"no upstream of {name} is named (MOCKLLM_UPSTREAMS)"
        if recording.upstreams:
            reason = f"{name} is not among the providers chosen for this recording"
        recording.add_problem(f"not recorded: {refusal or reason}")
    recording.add_miss(MissedRequest(name, _to_recorded_request(call)))
    text = f"no_scenario_matched: Nothing that is recorded answers {call.method} {call.path}."
    if recording.records and refusal:
        text += f" {refusal}."
    return Decision("unmatched", "match", text=text)


def _to_recorded_request(call: Call) -> RecordedRequest:
    """Return the request without secrets."""
    url = f"{call.path}?{call.raw_query}" if call.raw_query else call.path
    request = RecordedRequest(call.method, url, tuple(call.headers.items()), call.body)
    return redact_interaction(Interaction(request, RecordedResponse(0))).request
