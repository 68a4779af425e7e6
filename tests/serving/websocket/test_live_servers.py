"""WebSockets of the whole application under uvicorn and daphne."""

import pytest
from websockets.exceptions import InvalidStatus

from tests.serving.processes.servers import run_asgi_server
from tests.serving.websocket.connections import connected

pytestmark = pytest.mark.usefixtures("forked_processes")


@pytest.mark.parametrize(("server", "refusal_status"), [("uvicorn", 426), ("daphne", 403)])
async def test_application_speaks_websockets_under_any_server(
    server: str, refusal_status: int
) -> None:
    with run_asgi_server(server, "mockllm_site.asgi:application", MOCKLLM_ENV="test") as port:
        async with connected(port) as client:
            first = await client.ask("Hello", store=False)
            assert first["type"] == "response.completed"
            name = first["response"]["id"]
            second = await client.ask("And?", previous_response_id=name, stream_id="a")
            assert second["response"]["previous_response_id"] == name
        with pytest.raises(InvalidStatus) as error:
            async with connected(port, "/v1/messages"):
                pass
    assert error.value.response.status_code == refusal_status
