"""/metrics: its authorization and format; it makes no database query."""

from pathlib import Path
from typing import Any

import httpx2
import pytest
from django.test import Client
from prometheus_client.parser import text_string_to_metric_families

from mockllm_site import __version__
from mockllm_site.pages.metrics import registry
from tests.serving.pipelines import scenario, text_step
from tests.support.live_server import Live

ROOT = Path(__file__).resolve().parents[2]
TOKEN = "a-token-of-its-own"
OPENMETRICS = "application/openmetrics-text;version=1.0.0"


def read_metric(text: str, name: str, **labels: str) -> float:
    """Return the value of a metric, or 0 if it has no sample yet."""
    samples = (
        sample for family in text_string_to_metric_families(text) for sample in family.samples
    )
    return next(
        (sample.value for sample in samples if sample.name == name and sample.labels == labels), 0.0
    )


def test_metrics_are_prometheus_text(client: Client) -> None:
    """A database query would fail here: the test does not enable the database."""
    response = client.get("/metrics")
    assert response.status_code == 200
    assert response.headers["Content-Type"].startswith("text/plain; version=")
    text = response.content.decode()
    assert read_metric(text, "mockllm_build_info", version=__version__) == 1
    assert read_metric(text, "process_resident_memory_bytes") > 0


def test_metrics_are_openmetrics_if_accepted(client: Client) -> None:
    response = client.get("/metrics", headers={"accept": OPENMETRICS})
    assert response.headers["Content-Type"].startswith("application/openmetrics-text")
    assert response.content.endswith(b"# EOF\n")


@pytest.mark.parametrize(
    ("token", "authorization", "status"),
    [
        ("", None, 403),
        ("", "Bearer ", 403),
        (TOKEN, None, 401),
        (TOKEN, "Bearer another", 401),
        (TOKEN, f"Basic {TOKEN}", 401),
        (TOKEN, f"Bearer {TOKEN}", 200),
    ],
)
def test_metrics_require_their_token_in_prod(
    client: Client, settings: Any, token: str, authorization: str | None, status: int
) -> None:
    settings.MOCKLLM_ENV = "prod"
    settings.MOCKLLM_METRICS_TOKEN = token
    response = client.get(
        "/metrics", headers={"authorization": authorization} if authorization else None
    )
    assert response.status_code == status
    if status != 200:
        assert b"MOCKLLM_METRICS_TOKEN" in response.content
        assert b"mockllm_" not in response.content
    assert response.headers.get("WWW-Authenticate") == ("Bearer" if status == 401 else None)


def test_answered_request_is_counted(live: Live) -> None:
    def count_answers() -> float:
        text = httpx2.get(f"{live.base_url}/metrics").raise_for_status().text
        labels = {"outcome": "complete", "status": "2xx", "match": "matched"}
        return read_metric(text, "mockllm_requests_total", provider="openai", **labels)

    live.load(scenario("s", text_step("Hi")))
    before = count_answers()
    body = {"model": "gpt-4o", "messages": [{"role": "user", "content": "Hello"}]}
    headers = {"authorization": f"Bearer {live.key}"}
    url = f"{live.openai_base_url}/chat/completions"
    httpx2.post(url, json=body, headers=headers).raise_for_status()
    assert count_answers() == before + 1


def test_docs_name_every_metric() -> None:
    text = (ROOT / "docs" / "operating.md").read_text()
    names = {
        f"{family.name}_total" if family.type == "counter" else family.name
        for family in registry().collect()
        if family.name.startswith("mockllm_")
    }
    names = {name.replace("mockllm_build", "mockllm_build_info") for name in names}
    assert len(names) > 15
    assert {name for name in names if f"`{name}`" not in text} == set()
