"""The tables: scenarios and their steps as QA edits them, the catalog's version, the journal."""

from scenarios_app.models.changes import CatalogVersion, catalog_changed, new_key
from scenarios_app.models.choices import (
    FaultKind,
    FinishReason,
    Outcome,
    Reasoning,
    Select,
    TextMode,
)
from scenarios_app.models.journal import ServedRequest
from scenarios_app.models.scenarios import Scenario, Step

__all__ = [
    "CatalogVersion",
    "FaultKind",
    "FinishReason",
    "Outcome",
    "Reasoning",
    "Scenario",
    "Select",
    "ServedRequest",
    "Step",
    "TextMode",
    "catalog_changed",
    "new_key",
]
