"""Loading documents into the database: everything is checked before anything is written."""

from collections.abc import Sequence
from dataclasses import dataclass

from django.db import transaction

from scenarios_app.engine.document import (
    DocumentError,
    Problem,
    ScenarioDocument,
    merge_documents,
)
from scenarios_app.models import Scenario
from scenarios_app.store.rows import limits, save_documents


@dataclass(frozen=True, slots=True)
class Loaded:
    """Names of the scenarios that were new, and of those that took the place of another."""

    created: tuple[str, ...]
    replaced: tuple[str, ...]


def load(documents: Sequence[ScenarioDocument], *, replace: bool = True) -> Loaded:
    """Store all documents or none; scenarios that they do not name stay. Raises DocumentError.

    Documents of one name are merged. Without `replace` a name that is taken is an error. Once this
    returns, the caller tells its sessions: `await state.clear_scenario(name)` for each that was
    replaced.
    """
    merged = check(documents)
    with transaction.atomic():
        taken = set(Scenario.objects.values_list("name", flat=True))
        if not replace and (names := [d.name for d in merged if d.name in taken]):
            raise DocumentError.of(
                Problem(name, "a scenario of this name exists") for name in names
            )
        save_documents(merged)
    return Loaded(
        created=tuple(d.name for d in merged if d.name not in taken),
        replaced=tuple(d.name for d in merged if d.name in taken),
    )


def check(documents: Sequence[ScenarioDocument]) -> list[ScenarioDocument]:
    """The documents as they would be stored: merged by name. Raises DocumentError."""
    return merge_documents(documents, limits=limits())
