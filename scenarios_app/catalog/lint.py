"""Lint of scenario documents, and what the journal knows of the tools that requests offer."""

import json
from collections.abc import Collection, Iterable, Iterator
from functools import lru_cache
from typing import Any

from django.db.models import Q

from scenarios_app.catalog import catalog
from scenarios_app.catalog.snapshot import Snapshot
from scenarios_app.engine.document import ScenarioDocument, compile_scenario
from scenarios_app.engine.matching.lint import Api, Suspicion, lint
from scenarios_app.engine.scenario import Scenario
from scenarios_app.models import ServedRequest
from scenarios_app.wire.registry import providers, wires

# So many of the newest requests with tools tell which ones there are.
LATEST = 100


def suspicions_of(
    documents: Iterable[ScenarioDocument], *, offered: Collection[str] = ()
) -> list[Suspicion]:
    """Return the suspicions about scenarios that compile; disabled ones are skipped."""
    scenarios = [compile_scenario(document) for document in documents if document.enabled]
    return lint(scenarios, providers=set(providers()), offered=offered, apis=_apis())


def stored_suspicions() -> tuple[Suspicion, ...]:
    """Return the suspicions about the enabled scenarios as requests see them."""
    return _of_snapshot(catalog.snapshot(), frozenset(offered_tools()))


def suspicions_in_place(scenario: Scenario, *, of: str) -> list[Suspicion]:
    """Return the suspicions about a scenario as if it replaced the stored one of the given name."""
    others = (one for name, one in catalog.snapshot().index.by_name.items() if name != of)
    known: dict[str, Any] = {"providers": set(providers()), "offered": offered_tools()}
    suspicions = lint([*others, scenario], **known, apis=_apis())
    return [one for one in suspicions if one.scenario == scenario.name]


def suspicions_once_loaded(documents: Iterable[ScenarioDocument]) -> list[Suspicion]:
    """Return the suspicions about scenarios as if they were stored. A disabled one is linted on its
    own."""
    compiled = [(document.enabled, compile_scenario(document)) for document in documents]
    names = {scenario.name for _, scenario in compiled}
    stored = catalog.snapshot().index.by_name
    others = [scenario for name, scenario in stored.items() if name not in names]
    served = [scenario for enabled, scenario in compiled if enabled]
    known: dict[str, Any] = {"providers": set(providers()), "offered": offered_tools()}
    known["apis"] = _apis()
    suspicions = lint([*others, *served], **known)
    for enabled, scenario in compiled:
        if not enabled:
            suspicions += lint([scenario], **known)
    return [one for one in suspicions if one.scenario in names]


@lru_cache(maxsize=2)
def _of_snapshot(snapshot: Snapshot, offered: frozenset[str]) -> tuple[Suspicion, ...]:
    scenarios = tuple(snapshot.index.by_name.values())
    return tuple(lint(scenarios, providers=set(providers()), offered=offered, apis=_apis()))


def _apis() -> tuple[Api, ...]:
    """Return the APIs that the engine answers."""
    return tuple(
        Api(wire.provider, endpoint.canonical, endpoint.sends)
        for wire in wires()
        for endpoint in wire.endpoints
        if endpoint.generates
    )


def offered_tools() -> set[str]:
    """The names of the tools that the newest requests of the journal offered, as far as their
    bodies are kept whole."""
    with_tools = Q(request_text__contains='"tools"') | Q(parts__isnull=False)
    rows = ServedRequest.objects.filter(with_tools, request_cut=False).only("request_text", "parts")
    return {name for row in rows.order_by("-pk")[:LATEST] for name in _names(row.request_body)}


def _names(body: str) -> Iterator[str]:
    """On each wire, a tool is an object with a name in the list `tools`, which items of the input
    and namespaces have too."""
    try:
        request = json.loads(body)
    except (ValueError, RecursionError):
        return
    if not isinstance(request, dict):
        return
    waiting: list[object] = [{"tools": request.get("tools")}]
    items = request.get("input")
    for item in items if isinstance(items, list) else ():
        if isinstance(item, dict) and "tools" in item:
            waiting.append(item)
    while waiting:
        tool = waiting.pop()
        if not isinstance(tool, dict):
            continue
        if isinstance(name := tool.get("name"), str) and "tools" not in tool:
            yield name
            continue
        for key in ("tools", "function", "custom", "functionDeclarations", "function_declarations"):
            inner = tool.get(key)
            waiting += inner if isinstance(inner, list) else [inner]
