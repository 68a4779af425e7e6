"""*Play the user*: plays the scripted user of a scenario against it, and shows the turns with their
checkpoints. No step is used up, and nothing is counted or journalled."""

import asyncio
from collections.abc import Mapping
from typing import Any

from django.http import HttpRequest, HttpResponse

from scenarios_app.admin.dry_run import document_from_fields, dry_run_scenario
from scenarios_app.admin.pages import render_page
from scenarios_app.play.player import FixedCatalog
from scenarios_app.play.user import play_user
from scenarios_app.serving.services import services


def user_page(request: HttpRequest, owner: Any) -> HttpResponse:
    """Return `user_edits` for the fields of the request. Raises MissingPermission."""
    owner.require(request, "view")
    fields = request.POST if request.method == "POST" else request.GET
    return user_edits(request, owner, fields.dict())


def user_edits(request: HttpRequest, owner: Any, fields: Mapping[str, str]) -> HttpResponse:
    """Play the scripted user of the edits, draft or published scenario that the fields name, and
    return the page. Nothing is played if that has no script or has errors."""
    document, tried = document_from_fields(fields), dry_run_scenario(fields)
    name = document.name if document else fields.get("scenario", "")
    context: dict[str, Any] = {
        "title": f"Play the user of {name}" if name else "Play the user",
        "scenario": name,
        "tried": tried,
        "hidden": tried.hidden or {"scenario": name},
    }
    if document is not None and document.user is not None:
        play = play_user(
            document,
            document.user,
            catalog=FixedCatalog(tried.index),
            options=services().pipeline.options,
        )
        context["run"] = asyncio.run(play)
    return render_page(request, owner, "play_user.html", context)
