"""Through every door the same call gets the same status, body and headers, and the same end."""

import httpx2

from scenarios_app.serving.sync_transport import SyncMockTransport
from scenarios_app.serving.transport import MockTransport
from tests.serving.cases import Case, cases, playing
from tests.serving.processes.servers import End, Seen, ask

ORIGIN = "http://mock"
# Differs for every answer on any transport.
RANDOM = "x-mockllm-request"


async def through_transport() -> list[tuple[Case, Seen]]:
    """What an async client in this process sees of each case: no server adds anything to it."""
    seen = []
    async with httpx2.AsyncClient(transport=MockTransport(playing().running)) as client:
        for case in cases():
            request = client.build_request(
                case.method, ORIGIN + case.path, content=case.body, headers=dict(case.headers)
            )
            seen.append((case, await _read(client, request)))
    return seen


async def _read(client: httpx2.AsyncClient, request: httpx2.Request) -> Seen:
    try:
        response = await client.send(request, stream=True)
    except httpx2.RemoteProtocolError:
        return Seen(0, (), b"", "nothing")
    body, end = b"", _COMPLETE
    try:
        async for piece in response.aiter_raw():
            body += piece
    except httpx2.RemoteProtocolError:
        end = _CUT
    await response.aclose()
    return Seen(response.status_code, _headers(response), body, end)


def through_sync_transport(transport: SyncMockTransport, case: Case) -> Seen:
    with httpx2.Client(transport=transport) as client:
        request = client.build_request(
            case.method, ORIGIN + case.path, content=case.body, headers=dict(case.headers)
        )
        try:
            response = client.send(request, stream=True)
        except httpx2.RemoteProtocolError:
            return Seen(0, (), b"", "nothing")
        body, end = b"", _COMPLETE
        try:
            for piece in response.iter_raw():
                body += piece
        except httpx2.RemoteProtocolError:
            end = _CUT
        response.close()
        return Seen(response.status_code, _headers(response), body, end)


_COMPLETE: End = "complete"
_CUT: End = "cut"


def _headers(response: httpx2.Response) -> tuple[tuple[str, str], ...]:
    return tuple((k.decode().lower(), v.decode("latin-1")) for k, v in response.headers.raw)


def assert_same(case: Case, seen: Seen, reference: Seen) -> None:
    """Two answers are the same but for headers that only the server has set."""
    ours = {name for name, _ in reference.headers}
    assert _comparable(seen, ours) == _comparable(reference, ours), case.name


def _comparable(seen: Seen, names: set[str]) -> tuple[object, ...]:
    return seen.status, seen.end, seen.body, _fixed(seen, names)


def _fixed(seen: Seen, names: set[str]) -> list[tuple[str, str]]:
    return sorted(
        (name, "" if name == RANDOM else value) for name, value in seen.headers if name in names
    )


async def test_every_live_door_gives_what_the_transport_gives(port: int) -> None:
    for case, reference in await through_transport():
        assert_same(case, ask(port, case), reference)


async def test_the_sync_transport_gives_what_the_async_one_gives() -> None:
    transport = SyncMockTransport(playing().running)
    for case, reference in await through_transport():
        assert_same(case, through_sync_transport(transport, case), reference)


async def test_the_cases_are_what_they_say() -> None:
    """The comparison would hold just as well if everything were refused."""
    seen = {str(case): answer for case, answer in await through_transport()}
    statuses = {name: (answer.status, answer.end) for name, answer in seen.items()}
    assert statuses["openai text whole"] == (200, "complete")
    assert statuses["anthropic tools stream"] == (200, "complete")
    assert statuses["openai disconnect stream"] == (200, "cut")
    assert statuses["openai disconnect whole"] == (200, "cut")
    assert statuses["anthropic timeout whole"] == (0, "nothing")
    assert statuses["openai network_error stream"] == (0, "nothing")
    assert statuses["gemini tools stream"] == (200, "complete")
    assert statuses["gemini disconnect stream"] == (200, "cut")
    assert statuses["ollama tools stream"] == (200, "complete")
    assert statuses["ollama disconnect stream"] == (200, "cut")
    assert statuses["openai effects whole"] == (203, "complete")
    assert statuses["openai empty whole"] == (204, "complete")
    expected = {
        "unmatched": 404,
        "malformed JSON": 400,
        "no key": 401,
        "trailing slash": 404,
        "wrong method": 405,
        "too large": 413,
        "headers too large": 431,
        "preflight": 204,
        "no version": 404,
        "Ollama's no folder": 404,
        "preflight of no version": 204,
        "named by header": 404,
        "Gemini's array": 200,
        "Gemini's broken array": 200,
        "Gemini's key in the query": 200,
        "Gemini without a key": 403,
        "Gemini's encoded colon": 200,
        "Gemini's trailing slash": 404,
        "Gemini's wrong method": 405,
        "Gemini's unknown path": 404,
        "Gemini's malformed JSON": 400,
        "Gemini's models": 200,
        "Gemini's unknown model": 404,
        "Gemini's embeddings": 200,
        "Gemini counts": 200,
        "Ollama loads": 200,
        "Ollama's models": 200,
        "Ollama is probed": 200,
        "Ollama's embeddings": 200,
        "Ollama's unknown model": 404,
        "Ollama's wrong method": 405,
        "Ollama's trailing slash": 404,
        "Ollama's encoded path": 404,
    }
    assert {name: seen[name].status for name in expected} == expected
    errors = [answer for answer in seen.values() if answer.status >= 400]
    assert all(b"error" in answer.body for answer in errors)
