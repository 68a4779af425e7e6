"""The parts of an Anthropic response that depend on the model and on the request's options."""

import re

import msgspec
from msgspec.structs import replace

from scenarios_app.engine.canonical import Json
from scenarios_app.wire.base import Call
from scenarios_app.wire.body import Node

# Since Claude 4 the family's name comes before the version, earlier after it.
_VERSION = re.compile(r"claude-(?:[a-z]+-)?(\d)(?:[-.](\d)(?!\d))?")
_LATEST = (9, 9)
# Since this version requests and responses have an inference region.
_GEO_SINCE = (4, 6)
_NO_GEO = "not_available"
# Since this version models decide whether to think, and always report thinking tokens.
_ADAPTIVE_SINCE = (4, 7)
_ADVISOR, _COMPACTION = "advisor_", "compact_"
_HOUR_TTL = b'"1h"'
# Fields that few requests have.
_RARE_FIELDS = frozenset({"container", "context_management", "fallbacks", "inference_geo", "speed"})


class AnthropicOptions(msgspec.Struct, frozen=True):
    """The options of a request that affect its response, beside the text.

    `geo` is the inference region, `speed` the requested one; `thinking` adds the count of thinking
    tokens. Cache writes live for an `hour`, else for five minutes. `container` is the requested
    one, None for a new one. With `managed` the response reports context edits, with `iterated` the
    usage of each iteration.
    """

    geo: str = "global"
    thinking: bool = False
    hour: bool = False
    container: str | None = None
    speed: str | None = None
    managed: bool = False
    iterated: bool = False


def read_options(call: Call, body: Node, model: str, *, thinking: bool) -> AnthropicOptions:
    """Return the options of a request; those of wrong types are ignored. `thinking` is true if the
    request switches thinking on."""
    usual = default_options(model, thinking=thinking)
    fields, has_hour = body.object(), _HOUR_TTL in call.body
    if not (has_hour or _ADVISOR.encode() in call.body) and _RARE_FIELDS.isdisjoint(fields):
        return usual
    geo, speed, container = map(fields.get, ("inference_geo", "speed", "container"))
    if isinstance(container, dict):
        container = container.get("id")
    return replace(
        usual,
        geo=geo if isinstance(geo, str) and usual.geo != _NO_GEO else usual.geo,
        hour=has_hour,
        container=container if isinstance(container, str) else None,
        speed=speed if isinstance(speed, str) else None,
        managed=fields.get("context_management") is not None,
        iterated=_reports_iterations(fields),
    )


def default_options(model: str, *, thinking: bool) -> AnthropicOptions:
    """Return the options of a request without any option fields, by the model's version; a name
    without a version is one of the latest models."""
    match = _VERSION.search(model)
    version = (int(match[1]), int(match[2] or 0)) if match else _LATEST
    geo = "global" if version >= _GEO_SINCE else _NO_GEO
    return AnthropicOptions(geo=geo, thinking=thinking or version >= _ADAPTIVE_SINCE)


def _reports_iterations(fields: dict[str, Json]) -> bool:
    """Return whether a request has fallbacks, an advisor tool or a compaction."""
    managed = fields.get("context_management")
    edits = managed.get("edits") if isinstance(managed, dict) else None
    return (
        bool(fields.get("fallbacks"))
        or _has_type(fields.get("tools"), _ADVISOR)
        or _has_type(edits, _COMPACTION)
    )


def _has_type(listed: Json, kind: str) -> bool:
    """Return whether a list contains an object whose type starts with `kind`."""
    return isinstance(listed, list) and any(
        isinstance(item, dict) and str(item.get("type")).startswith(kind) for item in listed
    )
