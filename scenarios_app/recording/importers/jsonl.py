"""Logs of calls, a JSON object on each line: requests with their answers as people and gateways
log them, OpenAI's and Anthropic's batches, and conversations as models are tuned with."""

import json
from collections.abc import Iterator, Sequence
from typing import Any, Final

from scenarios_app.recording import Interaction, RecordedRequest, RecordedResponse
from scenarios_app.recording.importers.reader import Place, headers_of

_OPENAI: Final = "https://api.openai.com"
_ANTHROPIC: Final = "https://api.anthropic.com"
_WRITTEN: Final = "the log has no bytes of the answer: it is written anew"
_NO_REQUEST: Final = "left out: line {}: an answer whose request is not in the file"
_NO_ANSWER: Final = "left out: line {}: a request whose answer is not in the file"


def fits(value: Any) -> bool:
    """Whether these lines are such a log."""
    return (
        isinstance(value, list)
        and bool(value)
        and all(isinstance(line, dict) and _kind(line) for line in value)
    )


def read(value: Sequence[Any], *, source: str = "") -> Iterator[Interaction | str]:
    """The interactions, and notes for lines that are none; raises DocumentError."""
    requests: dict[str, tuple[int, Place]] = {}
    answered: dict[str, tuple[int, Place]] = {}
    for number, line in enumerate(value, start=1):
        place = Place(line, source, (f"line {number}",))
        match _kind(line):
            case "call":
                yield _call(place)
            case "conversation":
                yield from _conversation(place)
            case "asked":
                requests[str(line["custom_id"])] = number, place
            case _:
                answered[str(line.get("custom_id"))] = number, place
    for name, (number, place) in requests.items():
        if name in answered:
            yield _of_batch(place, answered[name][1])
        else:
            yield _NO_ANSWER.format(number)
    for name, (number, _) in answered.items():
        if name not in requests:
            yield _NO_REQUEST.format(number)


def _kind(line: dict[str, Any]) -> str:
    """What a line holds, empty where that is nothing known."""
    if "custom_id" in line:
        if "body" in line or "params" in line:
            return "asked"
        return "answered" if "response" in line or "result" in line else ""
    if "request" in line and ("response" in line or "answer" in line):
        return "call"
    return "conversation" if isinstance(line.get("messages"), list) else ""


def _call(place: Place) -> Interaction:
    """A request with its answer, each as a body or with what stands around one."""
    request = place.at("request")
    answer = place.at("response") if place.maybe("response").is_present else place.at("answer")
    around = request.value if isinstance(request.value, dict) and "body" in request.value else {}
    body = request.at("body") if around else request
    url = _first(around, place.value, "url", "uri", "path", "endpoint") or _url_of(body.value)
    query = place.maybe("query").value
    if isinstance(query, str) and query and "?" not in url:
        url = f"{url}?{query}"
    method = _first(around, place.value, "method") or "POST"
    headers = headers_of(request.at("headers")) if around else ()
    return Interaction(
        RecordedRequest(method.upper(), url, headers, _bytes(body.value)),
        _response(answer, place),
        (_WRITTEN,) if not isinstance(answer.value, str) else (),
    )


def _response(answer: Place, place: Place) -> RecordedResponse:
    around = answer.value if isinstance(answer.value, dict) else {}
    body = answer.value
    if "body" in around and not {"id", "object", "choices", "candidates"} & {*around}:
        body = around["body"]
    status = next(
        (
            holder[key]
            for holder in (around, place.value)
            for key in _STATUSES
            if _is_status(holder.get(key))
        ),
        200,
    )
    headers = (
        headers_of(answer.at("headers")) if isinstance(around.get("headers"), dict | list) else ()
    )
    if not headers:
        headers = headers_of(place.maybe("headers"))
    data = _bytes(body)
    return RecordedResponse(int(status), headers, ((0.0, data),) if data else ())


_STATUSES: Final = ("status_code", "status", "statusCode")


def _is_status(value: Any) -> bool:
    return isinstance(value, int) and 200 <= value <= 599


def _conversation(place: Place) -> Iterator[Interaction]:
    """Each answer of a conversation, to the messages before it."""
    line = place.object()
    messages = [message.object() for message in place.at("messages").items()]
    others: dict[str, Any] = {key: line[key] for key in ("tools", "functions") if key in line}
    model = line.get("model") if isinstance(line.get("model"), str) else "gpt-4o"
    for number, message in enumerate(messages):
        if message.get("role") != "assistant":
            continue
        request: dict[str, Any] = {"model": model, "messages": messages[:number], **others}
        reason = "tool_calls" if message.get("tool_calls") else "stop"
        message_fields = {key: value for key, value in message.items() if key != "weight"}
        message = {"content": None, **message_fields}
        choice = {"index": 0, "message": message, "finish_reason": reason}
        answer: dict[str, Any] = {
            "id": f"chatcmpl-{number}",
            "object": "chat.completion",
            "created": 0,
        }
        yield Interaction(
            RecordedRequest("POST", f"{_OPENAI}/v1/chat/completions", (), _bytes(request)),
            RecordedResponse(
                200, (), ((0.0, _bytes({**answer, "model": model, "choices": [choice]})),)
            ),
            (_WRITTEN,),
        )


def _of_batch(request: Place, response_line: Place) -> Interaction:
    if request.maybe("params").is_present:
        result = response_line.at("result")
        body, status = result.maybe("message").value, 200
        if body is None:
            body, status = result.maybe("error").value, 400
        url, sent = f"{_ANTHROPIC}/v1/messages", request.at("params").value
    else:
        response = response_line.at("response")
        code = response.maybe("status_code").value
        body, status = response.maybe("body").value, code if _is_status(code) else 200
        url = f"{_OPENAI}{request.at('url').text()}"
        sent = request.at("body").value
    return Interaction(
        RecordedRequest("POST", url, (), _bytes(sent)),
        RecordedResponse(status, (), ((0.0, _bytes(body)),)),
        (_WRITTEN,),
    )


def _first(*holders_and_keys: Any) -> str:
    holders = [one for one in holders_and_keys if isinstance(one, dict)]
    keys = [one for one in holders_and_keys if isinstance(one, str)]
    texts = (holder[key] for holder in holders for key in keys if isinstance(holder.get(key), str))
    return next(texts, "")


def _url_of(body: Any) -> str:
    """Where a body goes to that is logged without its place."""
    match body:
        case {"contents": _, "model": str(model)}:
            name = model.removeprefix("models/")
            return f"https://generativelanguage.googleapis.com/v1beta/models/{name}:generateContent"
        case {"input": _, "model": str(model)} if "embedding" in model:
            return f"{_OPENAI}/v1/embeddings"
        case {"input": _}:
            return f"{_OPENAI}/v1/responses"
        case {"messages": _, "model": str(model)} if "claude" in model:
            return f"{_ANTHROPIC}/v1/messages"
        case _:
            return f"{_OPENAI}/v1/chat/completions"


def _bytes(value: Any) -> bytes:
    if value is None:
        return b""
    if isinstance(value, str):
        return value.encode("utf-8", "surrogatepass")
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode(
        "utf-8", "surrogatepass"
    )
