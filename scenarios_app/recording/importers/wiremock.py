"""Reads stub mappings of WireMock for paths of providers, one or a list of them."""

import json
from collections.abc import Iterator
from typing import Any, Final
from urllib.parse import urlencode

import re2

from scenarios_app.engine.canonical import Json
from scenarios_app.recording import Interaction, RecordedRequest, RecordedResponse
from scenarios_app.recording.document import TAG, Conversion, to_document
from scenarios_app.recording.importers.reader import FileValue, read_headers

_URLS: Final = ("url", "urlPath", "urlPattern", "urlPathPattern", "urlPathTemplate")
# Keys of a response without an equivalent here.
_UNSUPPORTED_RESPONSE_KEYS: Final = ("proxyBaseUrl", "transformers", "bodyFileName", "fault")
_NOT_CARRIED: Final = "{} is not carried over"
# Wildcards of URL patterns. RE2, since Python's `re` takes hours for hostile patterns.
_WILDCARD: Final = re2.compile(r"\[\^/\]\+|\.\*|\.\+|^\^|\$$|\(\?[^)]*\)")
_ESCAPED: Final = re2.compile(r"(?s)\\(.)")
_STATE_KEYS: Final = ("scenarioName", "requiredScenarioState", "newScenarioState")


def recognizes(value: Any) -> bool:
    """True if a decoded file is a stub mapping or has a list of them."""
    mappings = value.get("mappings") if isinstance(value, dict) else None
    return all(map(_is_mapping, mappings)) if isinstance(mappings, list) else _is_mapping(value)


def _is_mapping(value: Any) -> bool:
    """Return whether a value is a stub mapping, not a logged call."""
    request = value.get("request") if isinstance(value, dict) else None
    return (
        isinstance(request, dict)
        and "response" in value
        and not {"uri", "body"} & {*request}
        and any(key in request for key in _URLS)
    )


def read_document(name: str, file: FileValue) -> Conversion:
    """Return the document of the mappings; raises DocumentError."""
    mappings = list(file.at("mappings").items()) if "mappings" in file.object() else [file]
    document: dict[str, Any] = {"name": name, "tags": [TAG]}
    steps: list[Json] = []
    notes: list[str] = []
    in_order = sorted(enumerate(mappings, start=1), key=lambda pair: _get_priority(pair[1]))
    for number, mapping in in_order:
        problems = [f"mapping {number}: {text}" for text in _unsupported_keys(mapping)]
        request = _read_request(mapping.at("request"))
        interaction = Interaction(request, _read_response(mapping.at("response")))
        converted = to_document(name, [interaction]).document
        if not converted["steps"]:
            url = request.url[:200]
            notes.append(f"left out: mapping {number}: {url} is no path of a provider here")
            continue
        document |= converted
        (step,) = converted["steps"]
        match = step["match"]
        if not request.body:
            # A mapping without body patterns accepts any body.
            match.pop("recorded", None)
        patterns = mapping.at("request").maybe("bodyPatterns").items()
        contained = [pattern.maybe("contains").value for pattern in patterns]
        if texts := [text for text in contained if isinstance(text, str)]:
            match["messages"] = [{"which": "any", "contains": text} for text in texts]
        delay = mapping.at("response").maybe("fixedDelayMilliseconds").value
        if isinstance(delay, int) and delay > 0:
            step["produce"]["latency_ms"] = delay
        steps.append({**step, "consume": False})
        notes += problems
    return Conversion({**document, "steps": steps}, tuple(notes))


def _get_priority(mapping: FileValue) -> int:
    """Return a mapping's priority, 5 if it has none."""
    priority = mapping.maybe("priority").value
    return priority if isinstance(priority, int) else 5


def _read_request(request: FileValue) -> RecordedRequest:
    """Return the request that a mapping describes with literal values; other matchers are left out,
    and wildcards of URLs are removed. Raises DocumentError for values of a wrong type."""
    key = next(key for key in _URLS if key in request.object())
    url = _plain_url(request.at(key)) if "Pattern" in key else request.at(key).text()
    query = _equal_to_values(request.maybe("queryParameters"))
    method = request.maybe("method").value
    return RecordedRequest(
        method=method if isinstance(method, str) and method != "ANY" else "POST",
        url=f"{url}?{urlencode(query, errors='replace')}" if query and "?" not in url else url,
        headers=tuple(_equal_to_values(request.maybe("headers")).items()),
        body=_request_body(request),
    )


def _plain_url(pattern: FileValue) -> str:
    """Return a URL pattern's literal characters; raises DocumentError for half a surrogate."""
    try:
        return str(_ESCAPED.sub(r"\1", _WILDCARD.sub("", pattern.text())))
    except UnicodeEncodeError:
        raise pattern.type_error("a pattern without half a surrogate pair") from None


def _equal_to_values(expected: FileValue) -> dict[str, str]:
    """Return the values that an object of conditions requires with `equalTo`."""
    conditions = expected.object() if expected.is_present else {}
    return {
        name: value["equalTo"]
        for name, value in conditions.items()
        if isinstance(value, dict) and isinstance(value.get("equalTo"), str)
    }


def _request_body(request: FileValue) -> bytes:
    """Return the body of the first pattern that requires a whole one, else no bytes."""
    for pattern in request.maybe("bodyPatterns").items():
        for key in ("equalToJson", "equalTo"):
            value = pattern.maybe(key).value
            if value is not None:
                text = value if isinstance(value, str) else json.dumps(value)
                return text.encode("utf-8", "surrogatepass")
    return b""


def _read_response(response: FileValue) -> RecordedResponse:
    """Return a mapping's response; raises DocumentError."""
    status = response.maybe("status")
    if response.maybe("jsonBody").is_present:
        body = json.dumps(response.at("jsonBody").value, separators=(",", ":")).encode()
    elif response.maybe("base64Body").is_present:
        body = response.at("base64Body").base64()
    else:
        body = response.maybe("body").data()
    code = status.status() if status.is_present else 200
    return RecordedResponse.whole(code, read_headers(response.maybe("headers")), body)


def _unsupported_keys(mapping: FileValue) -> Iterator[str]:
    """Yield a note for each key of a mapping that is not converted."""
    request, response = mapping.at("request"), mapping.at("response")
    for pattern in request.maybe("bodyPatterns").items():
        others = {*pattern.object()} - {"equalToJson", "equalTo", "contains"}
        yield from map(_NOT_CARRIED.format, sorted(others))
    left = (response.object().keys() & _UNSUPPORTED_RESPONSE_KEYS) | (
        mapping.object().keys() & _STATE_KEYS
    )
    yield from map(_NOT_CARRIED.format, sorted(left))
