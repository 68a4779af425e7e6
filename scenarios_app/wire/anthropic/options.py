"""What of an Anthropic answer depends on its model and on the options of its request."""

import re
from functools import lru_cache

import msgspec

from scenarios_app.engine.canonical import Json
from scenarios_app.wire.base import Call
from scenarios_app.wire.body import Node

# The name of a family stands before its version since Claude 4, after it up to then.
_VERSION = re.compile(r"claude-(?:[a-z]+-)?(\d)(?:[-.](\d)(?!\d))?")
_LATEST = (9, 9)
# From here on a request says where it is computed, and an answer where it was.
_GEO_SINCE = (4, 6)
# From here on a model decides itself whether it thinks, and always says how much it did.
_ADAPTIVE_SINCE = (4, 7)
_ADVISOR, _COMPACTION = "advisor_", "compact_"
_HOUR_TTL = b'"1h"'
# What few requests have.
_RARE_FIELDS = frozenset({"container", "context_management", "fallbacks", "inference_geo", "speed"})


class AnthropicOptions(msgspec.Struct, frozen=True):
    """What is asked of an answer beside its text.

    `geo` is where it is computed, `thinking` says whether it tells how much it thought. What is
    written to a cache is kept for an `hour`, else for five minutes. `container` is the one that
    code runs in, None where there is a new one. An answer is `managed` where its context may be
    edited, and `iterated` where it may take several goes, each of which is counted.
    """

    geo: str = "global"
    thinking: bool = False
    hour: bool = False
    container: str | None = None
    speed: str | None = None
    managed: bool = False
    iterated: bool = False


def read_options(call: Call, body: Node, model: str, *, thinking: bool) -> AnthropicOptions:
    """The options of a request, which may be missing. `thinking` says whether it is switched on."""
    fields, has_hour = body.object(), _HOUR_TTL in call.body
    if not (has_hour or _ADVISOR.encode() in call.body) and _RARE_FIELDS.isdisjoint(fields):
        return _default_options(model, thinking=thinking)
    traits = traits_of(model)
    geo, speed = fields.get("inference_geo"), fields.get("speed")
    return AnthropicOptions(
        geo=geo if isinstance(geo, str) and traits.placed else traits.geo,
        thinking=thinking or traits.adaptive,
        hour=has_hour,
        container=_container_id(fields.get("container")),
        speed=speed if isinstance(speed, str) else None,
        managed=fields.get("context_management") is not None,
        iterated=_has_iterations(fields),
    )


@lru_cache(maxsize=512)
def _default_options(model: str, *, thinking: bool) -> AnthropicOptions:
    """The options of a request that has none of its own."""
    traits = traits_of(model)
    return AnthropicOptions(geo=traits.geo, thinking=thinking or traits.adaptive)


class ModelTraits(msgspec.Struct, frozen=True):
    """What is known of a model by its name."""

    placed: bool
    adaptive: bool

    @property
    def geo(self) -> str:
        return "global" if self.placed else "not_available"


@lru_cache(maxsize=256)
def traits_of(model: str) -> ModelTraits:
    """The traits of a model; those of the latest ones where its name has no version."""
    match = _VERSION.search(model)
    version = (int(match[1]), int(match[2] or 0)) if match else _LATEST
    return ModelTraits(placed=version >= _GEO_SINCE, adaptive=version >= _ADAPTIVE_SINCE)


def _container_id(container: Json) -> str | None:
    """A container is named by its id, or described by an object that may have one."""
    if isinstance(container, dict):
        container = container.get("id")
    return container if isinstance(container, str) else None


def _has_iterations(fields: dict[str, Json]) -> bool:
    managed = fields.get("context_management")
    edits = managed.get("edits") if isinstance(managed, dict) else None
    return (
        bool(fields.get("fallbacks"))
        or _has_type(fields.get("tools"), _ADVISOR)
        or _has_type(edits, _COMPACTION)
    )


def _has_type(listed: Json, kind: str) -> bool:
    """Whether a list has an object whose type begins so."""
    return isinstance(listed, list) and any(
        isinstance(item, dict) and str(item.get("type")).startswith(kind) for item in listed
    )
