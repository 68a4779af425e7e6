"""The conversations that are kept with scenarios, by name."""

from scenarios_app.engine.canonical import Json
from scenarios_app.models import Draft, Scenario, TrialConversation


def conversation_for(name: str) -> dict[str, Json] | None:
    """The one that is kept for a scenario."""
    found = TrialConversation.objects.filter(scenario=name).first()
    return found.content if found and isinstance(found.content, dict) else None


def keep(name: str, content: dict[str, Json]) -> None:
    """Keep it for a scenario, in place of the one so far."""
    TrialConversation.objects.update_or_create(scenario=name, defaults={"content": content})


def follow(before: str, name: str) -> None:
    """What is kept goes with a scenario, or a draft of it, that has another name now. Where the old
    name stays in use, by the scenario or by its draft, both have it."""
    content = conversation_for(before)
    if content is None or conversation_for(name) is not None:
        return
    if any(model.objects.filter(name=before).exists() for model in (Scenario, Draft)):
        keep(name, content)
    else:
        TrialConversation.objects.filter(scenario=before).update(scenario=name)
