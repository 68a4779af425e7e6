"""Scenarios in the database, and their names in the catalog."""

from typing import Any

from scenarios_app.catalog import catalog
from scenarios_app.models import Scenario


def answer(text: str, **keys: Any) -> dict[str, Any]:
    """Return the document of a step that answers with a text."""
    return {**keys, "produce": {"text": text}}


def create_scenario(name: str = "weather", **fields: Any) -> Scenario:
    """Store a scenario of one step."""
    scenario = Scenario.objects.create(name=name, **fields)
    scenario.steps.create(order=1, document=answer("Sunny."))
    return scenario


def catalog_names() -> set[str]:
    """Return the names of the scenarios that requests see."""
    return set(catalog.index().by_name)
