"""The models that a models list names: the shipped ones, those in scenarios, those in settings."""

from collections.abc import Iterable

from scenarios_app.engine.matching.index import Index
from scenarios_app.wire.base import Wire

OURS = "mockllm"


def known_models(wire: Wire, index: Index, extra: Iterable[str]) -> dict[str, str]:
    """Model names with their owners, as a wire's provider lists them."""
    named = {
        condition.equals: OURS
        for scenario in index.by_name.values()
        for step in scenario.steps
        for condition in step.match.model
        if condition.equals
    }
    shipped = dict.fromkeys(wire.models, wire.provider)
    return {**dict.fromkeys(extra, OURS), **named, **shipped}
