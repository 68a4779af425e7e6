"""The models that a models list names."""

from collections.abc import Iterable
from typing import Final

from scenarios_app.engine.matching.index import Index
from scenarios_app.wire.base import Wire

# Who owns the models that are in no provider's list.
OURS: Final = "mockllm"


def known_models(wire: Wire, index: Index, extra: Iterable[str]) -> dict[str, str]:
    """The models that a models list names, with their owners as its provider tells them: the wire's
    own, those in scenarios, and those in settings."""
    named = {
        condition.equals: OURS
        for scenario in index.by_name.values()
        for step in scenario.steps
        for condition in step.match.model
        if condition.equals
    }
    shipped = dict.fromkeys(wire.models, wire.provider)
    return {**dict.fromkeys(extra, OURS), **named, **shipped}
