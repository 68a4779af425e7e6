"""Reads logs with one JSON object per line: calls as people and gateways log them, batches, and
conversations for fine-tuning.

Requests without a host get a path only: the wire that has the path decides the provider.
"""

from collections.abc import Iterable, Iterator
from typing import Any, Final, TypeGuard

from scenarios_app.engine.canonical import text_or_json
from scenarios_app.recording import Interaction, RecordedRequest, RecordedResponse
from scenarios_app.recording.importers.reader import FileValue, read_headers

# Each answer becomes a request that repeats all messages before it, so a small file can expand
# to very many bytes.
MAX_CONVERSATION_BYTES: Final = 20_000_000
_CHAT: Final = "/v1/chat/completions"
_MESSAGES: Final = "/v1/messages"
_ENCODED_AGAIN: Final = "the log does not have the answer's bytes, so it is encoded again"
_NO_REQUEST: Final = "left out: line {}: an answer whose request is not in the file"
_NO_ANSWER: Final = "left out: line {}: a request whose answer is not in the file"

_STATUSES: Final = ("status_code", "status", "statusCode")
_TOO_LARGE: Final = (
    "the requests of the conversations up to here have more than "
    f"{MAX_CONVERSATION_BYTES // 1_000_000} MB, since each repeats the messages before it: "
    "import a part of them"
)


def recognizes(value: Any) -> bool:
    """True if a decoded file is a list of lines of known kinds."""
    return (
        isinstance(value, list)
        and bool(value)
        and all(isinstance(line, dict) and _kind_of_line(line) for line in value)
    )


def read_interactions(file: FileValue) -> Iterator[Interaction | str]:
    """Yield the interactions, and notes on lines that are left out; raises DocumentError."""
    requests: dict[str, tuple[int, FileValue]] = {}
    responses: dict[str, tuple[int, FileValue]] = {}
    conversation_bytes = 0
    for number, line in enumerate(file.value, start=1):
        place = FileValue(line, file.source, (f"line {number}",))
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
                # Without either, the request failed, was cancelled or came too late.
                if (
                    place.maybe("response").is_present
                    or place.maybe("result").first("message", "error").is_present
                ):
                    responses[str(line["custom_id"])] = number, place
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
    """Return a logged request and its response: bodies, or objects with the bodies in them."""
    request, answer = place.at("request"), place.first("response", "answer")
    around = request.value if isinstance(request.value, dict) and "body" in request.value else {}
    body = request.at("body") if around else request
    holders = (around, place.object())
    url = _first_text(holders, "url", "uri", "path", "endpoint") or _likely_path(body.value)
    query = place.maybe("query").value
    if isinstance(query, str) and query and "?" not in url:
        url = f"{url}?{query}"
    method = _first_text(holders, "method") or "POST"
    headers = read_headers(request.at("headers")) if around else ()
    return Interaction(
        RecordedRequest(method.upper(), url, headers, _encode_body(body.value)),
        _read_response(answer, place),
        (_ENCODED_AGAIN,) if not isinstance(answer.value, str) else (),
    )


def _read_response(answer: FileValue, place: FileValue) -> RecordedResponse:
    """Return an answer that is a body, or an object with one, as a response; raises
    DocumentError."""
    around = answer.value if isinstance(answer.value, dict) else {}
    body = answer.value
    if "body" in around and not {"id", "object", "choices", "candidates"} & {*around}:
        body = around["body"]
    statuses = (holder.get(key) for holder in (around, place.object()) for key in _STATUSES)
    has_headers = isinstance(around.get("headers"), dict | list)
    headers = read_headers(answer.at("headers")) if has_headers else ()
    headers = headers or read_headers(place.maybe("headers"))
    return RecordedResponse.whole(
        next(filter(_is_status, statuses), 200), headers, _encode_body(body)
    )


def _is_status(value: Any) -> TypeGuard[int]:
    """Return whether a value is an HTTP status from 200 to 599."""
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
        head = {"id": f"chatcmpl-{number}", "object": "chat.completion", "created": 0}
        yield _encoded_interaction(_CHAT, request, {**head, "model": model, "choices": [choice]})


def _batch_interaction(request: FileValue, response_line: FileValue) -> Interaction:
    """Return the interaction of a batch's request and response lines; raises DocumentError."""
    if request.maybe("params").is_present:
        result = response_line.at("result")
        body = result.first("message", "error").value
        status = 200 if result.maybe("message").is_present else 400
        return _encoded_interaction(_MESSAGES, request.at("params").value, body, status=status)
    response, url = response_line.at("response"), request.at("url").text()
    code = response.maybe("status_code").value
    status = code if _is_status(code) else 200
    body = response.maybe("body").value
    return _encoded_interaction(url, request.at("body").value, body, status=status)


def _encoded_interaction(url: str, sent: Any, answer: Any, *, status: int = 200) -> Interaction:
    """Return a POST and its response from values; a note says that the file has no bytes."""
    return Interaction(
        RecordedRequest("POST", url, (), _encode_body(sent)),
        RecordedResponse.whole(status, (), _encode_body(answer)),
        (_ENCODED_AGAIN,),
    )


def _first_text(holders: Iterable[dict[str, Any]], *keys: str) -> str:
    """Return the first text that one of the objects has at one of the keys, or ""."""
    values = (holder.get(key) for holder in holders for key in keys)
    return next((value for value in values if isinstance(value, str)), "")


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


def _encode_body(value: Any) -> bytes:
    """Return a text as it is and any other value as JSON, in UTF-8; no bytes for None."""
    if value is None:
        return b""
    return text_or_json(value).encode("utf-8", "surrogatepass")
