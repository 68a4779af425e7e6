"""Reads logs with one JSON object per line: calls as people and gateways log them, batches, and
conversations for fine-tuning.

Requests without a host get a path only: the wire that has the path decides the provider.
"""

import json
from collections.abc import Iterator, Sequence
from typing import Any, Final

from scenarios_app.recording import Interaction, RecordedRequest, RecordedResponse
from scenarios_app.recording.importers.reader import FileValue, read_headers

# Each answer becomes a request that repeats all messages before it, so a small file can expand
# to very many bytes.
MAX_CONVERSATION_BYTES: Final = 20_000_000
_CHAT: Final = "/v1/chat/completions"
_MESSAGES: Final = "/v1/messages"
_ENCODED_AGAIN: Final = "the log has no bytes of the answer: it is written anew"
_NO_REQUEST: Final = "left out: line {}: an answer whose request is not in the file"
_NO_ANSWER: Final = "left out: line {}: a request whose answer is not in the file"

_TOO_LARGE: Final = (
    "the requests of the conversations up to here have more than "
    f"{MAX_CONVERSATION_BYTES // 1_000_000} MB, since each repeats the messages before it: "
    "import a part of them"
)


def fits(value: Any) -> bool:
    """True if all these lines are of known kinds."""
    return (
        isinstance(value, list)
        and bool(value)
        and all(isinstance(line, dict) and _kind_of_line(line) for line in value)
    )


def read(value: Sequence[Any], *, source: str = "") -> Iterator[Interaction | str]:
    """Yield the interactions, and notes on lines that are left out; raises DocumentError."""
    requests: dict[str, tuple[int, FileValue]] = {}
    responses: dict[str, tuple[int, FileValue]] = {}
    conversation_bytes = 0
    for number, line in enumerate(value, start=1):
        place = FileValue(line, source, (f"line {number}",))
        match _kind_of_line(line):
            case "call":
                yield _logged_call(place)
            case "conversation":
                for interaction in _conversation(place):
                    conversation_bytes += len(interaction.request.body)
                    if conversation_bytes > MAX_CONVERSATION_BYTES:
                        raise place.error(_TOO_LARGE)
                    yield interaction
            case "batch request":
                requests[str(line["custom_id"])] = number, place
            case _:
                responses[str(line.get("custom_id"))] = number, place
    for name, (number, place) in requests.items():
        if name in responses:
            yield _batch_interaction(place, responses[name][1])
        else:
            yield _NO_ANSWER.format(number)
    for name, (number, _) in responses.items():
        if name not in requests:
            yield _NO_REQUEST.format(number)


def _kind_of_line(line: dict[str, Any]) -> str:
    """Return the kind of a line, empty if it is unknown."""
    if "custom_id" in line:
        if "body" in line or "params" in line:
            return "batch request"
        return "batch response" if "response" in line or "result" in line else ""
    if "request" in line and ("response" in line or "answer" in line):
        return "call"
    return "conversation" if isinstance(line.get("messages"), list) else ""


def _logged_call(place: FileValue) -> Interaction:
    """Return a logged request with its response; each is a body, or an object with the body in
    it."""
    request = place.at("request")
    answer = place.at("response") if place.maybe("response").is_present else place.at("answer")
    around = request.value if isinstance(request.value, dict) and "body" in request.value else {}
    body = request.at("body") if around else request
    url = _first_text(around, place.value, "url", "uri", "path", "endpoint") or _likely_path(
        body.value
    )
    query = place.maybe("query").value
    if isinstance(query, str) and query and "?" not in url:
        url = f"{url}?{query}"
    method = _first_text(around, place.value, "method") or "POST"
    headers = read_headers(request.at("headers")) if around else ()
    return Interaction(
        RecordedRequest(method.upper(), url, headers, _encode(body.value)),
        _response(answer, place),
        (_ENCODED_AGAIN,) if not isinstance(answer.value, str) else (),
    )


def _response(answer: FileValue, place: FileValue) -> RecordedResponse:
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
        read_headers(answer.at("headers")) if isinstance(around.get("headers"), dict | list) else ()
    )
    if not headers:
        headers = read_headers(place.maybe("headers"))
    data = _encode(body)
    return RecordedResponse(int(status), headers, ((0.0, data),) if data else ())


_STATUSES: Final = ("status_code", "status", "statusCode")


def _is_status(value: Any) -> bool:
    return isinstance(value, int) and 200 <= value <= 599


def _conversation(place: FileValue) -> Iterator[Interaction]:
    """Yield one interaction for each answer in a conversation."""
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
            RecordedRequest("POST", _CHAT, (), _encode(request)),
            RecordedResponse(
                200, (), ((0.0, _encode({**answer, "model": model, "choices": [choice]})),)
            ),
            (_ENCODED_AGAIN,),
        )


def _batch_interaction(request: FileValue, response_line: FileValue) -> Interaction:
    if request.maybe("params").is_present:
        result = response_line.at("result")
        body, status = result.maybe("message").value, 200
        if body is None:
            body, status = result.maybe("error").value, 400
        url, sent = _MESSAGES, request.at("params").value
    else:
        response = response_line.at("response")
        code = response.maybe("status_code").value
        body, status = response.maybe("body").value, code if _is_status(code) else 200
        url = request.at("url").text()
        sent = request.at("body").value
    return Interaction(
        RecordedRequest("POST", url, (), _encode(sent)),
        RecordedResponse(status, (), ((0.0, _encode(body)),)),
        (_ENCODED_AGAIN,),
    )


def _first_text(*holders_and_keys: Any) -> str:
    """Return the first text that one of the objects has at one of the keys, or ""."""
    holders = [one for one in holders_and_keys if isinstance(one, dict)]
    keys = [one for one in holders_and_keys if isinstance(one, str)]
    texts = (holder[key] for holder in holders for key in keys if isinstance(holder.get(key), str))
    return next(texts, "")


def _likely_path(body: Any) -> str:
    """Return the likely path for a body that was logged without a URL, by its keys."""
    match body:
        case {"contents": _, "model": str(model)}:
            name = model.removeprefix("models/")
            return f"/v1beta/models/{name}:generateContent"
        case {"input": _, "model": str(model)} if "embedding" in model:
            return "/v1/embeddings"
        case {"input": _}:
            return "/v1/responses"
        case {"messages": _, "model": str(model)} if "claude" in model:
            return _MESSAGES
        case _:
            return _CHAT


def _encode(value: Any) -> bytes:
    if value is None:
        return b""
    if isinstance(value, str):
        return value.encode("utf-8", "surrogatepass")
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode(
        "utf-8", "surrogatepass"
    )
