"""The tab *Scripted user*: plays the scripted user of a scenario against it, and shows the turns
with their checkpoints."""

import asyncio
from collections.abc import Mapping
from typing import Any

from django.http import HttpRequest

from scenarios_app.admin.dry_run.inputs import DryRunScenario, document_from_fields
from scenarios_app.play.player import FixedCatalog
from scenarios_app.play.user import play_user
from scenarios_app.serving.services import services


def user_context(
    request: HttpRequest, owner: Any, fields: Mapping[str, str], tried: DryRunScenario
) -> dict[str, Any]:
    """Play the scripted user of the edits, draft or published scenario that the fields name, and
    return the context. Nothing is played if that has no script or has errors."""
    document = document_from_fields(fields)
    context: dict[str, Any] = {"name": document.name if document else fields.get("scenario", "")}
    if document is not None and document.user is not None:
        play = play_user(
            document,
            document.user,
            catalog=FixedCatalog(tried.index),
            options=services().pipeline.options,
        )
        context["run"] = asyncio.run(play)
    return context
