"""Over every transport the same call gets the same status, body, headers and end."""

import httpx2

from scenarios_app.serving.cors import POLICY
from scenarios_app.serving.sync_transport import SyncMockTransport
from scenarios_app.serving.transport import MockTransport
from tests.serving.cases import Case, case_harness, cases
from tests.serving.processes.servers import End, ObservedResponse, send_case

ORIGIN = "http://mock"
# Differs for every answer on any transport.
RANDOM = "x-mockllm-request"


async def send_cases() -> list[tuple[Case, ObservedResponse]]:
    """Return each case with the response that an in-process async client gets."""
    responses = []
    async with httpx2.AsyncClient(transport=MockTransport(case_harness().running)) as client:
        for case in cases():
            request = client.build_request(
                case.method, ORIGIN + case.path, content=case.body, headers=dict(case.headers)
            )
            responses.append((case, await _read_response(client, request)))
    return responses


async def _read_response(client: httpx2.AsyncClient, request: httpx2.Request) -> ObservedResponse:
    try:
        response = await client.send(request, stream=True)
    except httpx2.RemoteProtocolError:
        return ObservedResponse(0, (), b"", "nothing")
    body, end = b"", _COMPLETE
    try:
        async for piece in response.aiter_raw():
            body += piece
    except httpx2.RemoteProtocolError:
        end = _CUT
    await response.aclose()
    return ObservedResponse(response.status_code, _headers(response), body, end)


def send_case_sync(transport: SyncMockTransport, case: Case) -> ObservedResponse:
    with httpx2.Client(transport=transport) as client:
        request = client.build_request(
            case.method, ORIGIN + case.path, content=case.body, headers=dict(case.headers)
        )
        try:
            response = client.send(request, stream=True)
        except httpx2.RemoteProtocolError:
            return ObservedResponse(0, (), b"", "nothing")
        body, end = b"", _COMPLETE
        try:
            for piece in response.iter_raw():
                body += piece
        except httpx2.RemoteProtocolError:
            end = _CUT
        response.close()
        return ObservedResponse(response.status_code, _headers(response), body, end)


_COMPLETE: End = "complete"
_CUT: End = "cut"


def _headers(response: httpx2.Response) -> tuple[tuple[str, str], ...]:
    return tuple((k.decode().lower(), v.decode("latin-1")) for k, v in response.headers.raw)


def assert_same(case: Case, response: ObservedResponse, reference: ObservedResponse) -> None:
    """Assert that two responses are equal except for headers that the server adds."""
    pipeline_headers = {name for name, _ in reference.headers}
    assert _comparable(response, pipeline_headers) == _comparable(reference, pipeline_headers), (
        case.name
    )


def _comparable(response: ObservedResponse, names: set[str]) -> tuple[object, ...]:
    return response.status, response.end, response.body, _stable_headers(response, names)


def _stable_headers(response: ObservedResponse, names: set[str]) -> list[tuple[str, str]]:
    return sorted(
        (name, "" if name == RANDOM else value) for name, value in response.headers if name in names
    )


async def test_live_servers_give_the_responses_of_the_transport(port: int) -> None:
    for case, reference in await send_cases():
        assert_same(case, send_case(port, case), reference)


async def test_sync_transport_gives_the_responses_of_the_async_one() -> None:
    transport = SyncMockTransport(case_harness().running)
    for case, reference in await send_cases():
        assert_same(case, send_case_sync(transport, case), reference)


async def test_every_answer_of_a_live_server_has_the_policy_of_foreign_pages(port: int) -> None:
    for case in cases():
        response = send_case(port, case)
        if response.end == "nothing":
            continue
        headers = [header for header in response.headers if header[0] in dict(POLICY)]
        assert sorted(headers) == sorted(POLICY), case.name


async def test_cases_have_their_expected_statuses() -> None:
    """Without this, the comparisons would pass if all cases were refused."""
    responses = {str(case): answer for case, answer in await send_cases()}
    statuses = {name: (answer.status, answer.end) for name, answer in responses.items()}
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
    assert {name: responses[name].status for name in expected} == expected
    errors = [answer for answer in responses.values() if answer.status >= 400]
    assert all(b"error" in answer.body for answer in errors)
