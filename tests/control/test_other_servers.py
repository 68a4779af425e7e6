"""Under other ASGI servers, access depends on the address of the connection."""

from pathlib import Path

import httpx2
import pytest

from tests.control.control_client import error_of, scenario
from tests.serving.processes.serve_process import run_server as serve
from tests.serving.processes.servers import run_asgi_server

pytestmark = pytest.mark.usefixtures("forked_processes")


@pytest.mark.parametrize("server", ["uvicorn", "daphne"])
def test_api_works_and_rejects_unknown_hosts(server: str) -> None:
    with (
        run_asgi_server(server, "mockllm_site.asgi:application") as port,
        httpx2.Client(base_url=f"http://127.0.0.1:{port}", trust_env=False, timeout=30) as client,
    ):
        path = "/control/scenarios/a%2Fsteps"
        assert client.put(path, json=scenario("a/steps")).status_code == 201
        assert client.get(path).json() == scenario("a/steps")
        assert client.get("/control/requests").json()["requests"] == []
        response = client.get("/control/requests", headers={"host": "evil.example"})
        assert error_of(response) == (400, "VALIDATION_ERROR", None)
        form_response = client.post("/control/reset", data={"session": ""})
        assert error_of(form_response) == (415, "VALIDATION_ERROR", None)


def test_prod_requires_the_token_on_loopback(tmp_path: Path) -> None:
    variables = {"MOCKLLM_ENV": "prod", "SECRET_KEY": "0123456789" * 5}
    for token in ("", "the-token-of-this-test"):
        with serve(tmp_path, **variables, MOCKLLM_CONTROL_TOKEN=token) as server:
            base_url = f"http://127.0.0.1:{server.port}"
            with httpx2.Client(base_url=base_url, trust_env=False) as client:
                response_without_token = client.get("/control/requests")
                expected = (401, "UNAUTHORIZED", None) if token else (403, "FORBIDDEN", None)
                assert error_of(response_without_token) == expected
                headers = {"authorization": "Bearer the-token-of-this-test"}
                response_with_token = client.get("/control/requests", headers=headers)
                assert response_with_token.status_code == (200 if token else 403)
