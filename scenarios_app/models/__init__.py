"""The tables of scenarios, drafts, the catalog's version, the journal and server processes."""

from scenarios_app.models.bodies import BodyBlock
from scenarios_app.models.changes import (
    CatalogVersion,
    Installation,
    ServerProcess,
    announce_changes,
    catalog_changed,
    new_key,
)
from scenarios_app.models.drafts import AnyScenario, AnyStep, Draft, DraftStep
from scenarios_app.models.fields import Outcome, Select, TextMode
from scenarios_app.models.journal import (
    UNMATCHED_ROWS,
    FaultResult,
    PastAnswers,
    ServedRequest,
    SessionName,
)
from scenarios_app.models.revisions import (
    Revision,
    author_request,
    mark_changed,
    mark_deleted,
    one_save,
)
from scenarios_app.models.scenarios import (
    Presence,
    Scenario,
    ScenarioRow,
    Step,
    StepRow,
    TrialConversation,
)

__all__ = [
    "UNMATCHED_ROWS",
    "AnyScenario",
    "AnyStep",
    "BodyBlock",
    "CatalogVersion",
    "Draft",
    "DraftStep",
    "FaultResult",
    "Installation",
    "Outcome",
    "PastAnswers",
    "Presence",
    "Revision",
    "Scenario",
    "ScenarioRow",
    "Select",
    "ServedRequest",
    "ServerProcess",
    "SessionName",
    "Step",
    "StepRow",
    "TextMode",
    "TrialConversation",
    "announce_changes",
    "author_request",
    "catalog_changed",
    "mark_changed",
    "mark_deleted",
    "new_key",
    "one_save",
]
