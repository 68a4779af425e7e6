"""Lint of scenarios, with the tools that the newest requests in the journal offer."""

import json
from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import lru_cache

from django.db.models import Q

from scenarios_app.catalog import catalog
from scenarios_app.catalog.snapshot import Snapshot
from scenarios_app.conf import admin_cookies
from scenarios_app.engine.document import ScenarioDocument, compile_scenario
from scenarios_app.engine.matching.lint import Api, Suspicion, lint
from scenarios_app.engine.producing.reach import find_reaching, name_header, scripted_headers
from scenarios_app.engine.scenario import Scenario
from scenarios_app.models import ServedRequest
from scenarios_app.wire.registry import providers, wires

# The tools are taken from this many of the newest requests that offer some.
LATEST = 100


def suspicions_of(
    documents: Iterable[ScenarioDocument], *, offered: Collection[str] = ()
) -> list[Suspicion]:
    """Return the suspicions about scenarios that compile; disabled ones are skipped."""
    enabled = [compile_scenario(document) for document in documents if document.enabled]
    return _lint(enabled, offered)


def stored_suspicions() -> tuple[Suspicion, ...]:
    """Return the suspicions about the enabled scenarios as requests see them."""
    return _suspicions_of_snapshot(catalog.snapshot(), frozenset(offered_tools()))


def shadowed_steps(snapshot: Snapshot) -> dict[tuple[str, int], tuple[str, int]]:
    """Return scenario and number of the steps that are never reached, with those of the step that
    answers instead."""
    suspicions = _suspicions_of_snapshot(snapshot, frozenset(offered_tools()))
    hidden = (
        suspicion for suspicion in suspicions if suspicion.kind == "shadowed" and suspicion.by
    )
    return {
        (suspicion.scenario, suspicion.step): suspicion.by for suspicion in hidden if suspicion.by
    }


def suspicions_in_place(scenario: Scenario, *, of: str) -> list[Suspicion]:
    """Return the suspicions about a scenario as if it replaced the stored one of the given name."""
    others = (scenario for name, scenario in catalog.snapshot().index.by_name.items() if name != of)
    suspicions = _lint([*others, scenario], offered_tools())
    return [suspicion for suspicion in suspicions if suspicion.scenario == scenario.name]


def suspicions_once_loaded(documents: Iterable[ScenarioDocument]) -> list[Suspicion]:
    """Return the suspicions about scenarios as if they were stored. Disabled ones are not compared
    with others."""
    compiled = [(document.enabled, compile_scenario(document)) for document in documents]
    names = {scenario.name for _, scenario in compiled}
    stored = catalog.snapshot().index.by_name
    others = [scenario for name, scenario in stored.items() if name not in names]
    served = [scenario for enabled, scenario in compiled if enabled]
    disabled = [[scenario] for enabled, scenario in compiled if not enabled]
    offered = offered_tools()
    suspicions = (
        suspicion
        for group in ([*others, *served], *disabled)
        for suspicion in _lint(group, offered)
    )
    return [suspicion for suspicion in suspicions if suspicion.scenario in names]


@lru_cache(maxsize=2)
def _suspicions_of_snapshot(snapshot: Snapshot, offered: frozenset[str]) -> tuple[Suspicion, ...]:
    return tuple(_lint(tuple(snapshot.index.by_name.values()), offered))


def _lint(scenarios: Sequence[Scenario], offered: Collection[str]) -> list[Suspicion]:
    """Lint scenarios for the providers and the APIs that this server answers."""
    apis = [
        Api(wire.provider, endpoint.canonical, endpoint.sends)
        for wire in wires()
        for endpoint in wire.endpoints
        if endpoint.generates
    ]
    suspicions = lint(scenarios, providers=set(providers()), offered=offered, apis=apis)
    return [*suspicions, *_find_left_out_headers(scenarios)]


def _find_left_out_headers(scenarios: Sequence[Scenario]) -> Iterator[Suspicion]:
    """Yield the scripted headers that no answer gets."""
    cookies = admin_cookies()
    for scenario in scenarios:
        for number, step in enumerate(scenario.steps, start=1):
            for place, headers in scripted_headers(step):
                for header in find_reaching(headers, cookies):
                    message = f"left out: {name_header(header)} would change logins of the admin"
                    yield Suspicion("unsent", scenario.name, number, place, message)


def offered_tools() -> set[str]:
    """Return the names of the tools in the newest requests that the journal keeps whole."""
    with_tools = Q(request_text__contains='"tools"') | Q(parts__isnull=False)
    rows = ServedRequest.objects.filter(with_tools, request_cut=False).only("request_text", "parts")
    return {name for row in rows.order_by("-pk")[:LATEST] for name in _tool_names(row.request_body)}


def _tool_names(body: str) -> Iterator[str]:
    """Yield the names of tools: objects in `tools`, also in that of input items and namespaces."""
    try:
        request = json.loads(body)
    except (ValueError, RecursionError):
        return
    if not isinstance(request, dict):
        return
    waiting: list[object] = [{"tools": request.get("tools")}]
    if isinstance(items := request.get("input"), list):
        waiting += [item for item in items if isinstance(item, dict) and "tools" in item]
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
