"""Scenarios for the catalog in few words, and what it shows of them."""

from typing import Any

from scenarios_app.catalog import catalog
from scenarios_app.models import Scenario


def one(name: str = "weather", **fields: Any) -> Scenario:
    """A scenario of one step, stored."""
    scenario = Scenario.objects.create(name=name, **fields)
    scenario.steps.create(order=1, answer_text="Sunny.")
    return scenario


def names() -> set[str]:
    """The scenarios that requests see."""
    return set(catalog.index().by_name)
