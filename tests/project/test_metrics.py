"""/metrics: who gets it, in which form, and that it asks no database."""

from pathlib import Path
from typing import Any

import httpx2
import pytest
from django.test import Client
from prometheus_client.parser import text_string_to_metric_families

from mockllm_site import __version__
from mockllm_site.pages.metrics import registry
from tests.serving.pipelines import says, scenario
from tests.support.live_server import Live

ROOT = Path(__file__).resolve().parents[2]
TOKEN = "a-token-of-its-own"
OPENMETRICS = "application/openmetrics-text;version=1.0.0"


def sample(text: str, name: str, **labels: str) -> float:
    """The value of a figure, 0 where there is none of it yet."""
    found = (s for family in text_string_to_metric_families(text) for s in family.samples)
    return next((s.value for s in found if s.name == name and s.labels == labels), 0.0)


def test_it_is_the_text_that_prometheus_reads(client: Client) -> None:
    """No database is asked: these tests have none."""
    response = client.get("/metrics")
    assert response.status_code == 200
    assert response.headers["Content-Type"].startswith("text/plain; version=")
    text = response.content.decode()
    assert sample(text, "mockllm_build_info", version=__version__) == 1
    assert sample(text, "process_resident_memory_bytes") > 0


def test_it_is_openmetrics_for_who_asks_for_that(client: Client) -> None:
    response = client.get("/metrics", headers={"accept": OPENMETRICS})
    assert response.headers["Content-Type"].startswith("application/openmetrics-text")
    assert response.content.endswith(b"# EOF\n")


@pytest.mark.parametrize(
    ("token", "given", "status"),
    [
        ("", None, 403),
        ("", "Bearer ", 403),
        (TOKEN, None, 401),
        (TOKEN, "Bearer another", 401),
        (TOKEN, f"Basic {TOKEN}", 401),
        (TOKEN, f"Bearer {TOKEN}", 200),
    ],
)
def test_in_prod_it_wants_its_token(
    client: Client, settings: Any, token: str, given: str | None, status: int
) -> None:
    settings.MOCKLLM_ENV = "prod"
    settings.MOCKLLM_METRICS_TOKEN = token
    response = client.get("/metrics", headers={"authorization": given} if given else None)
    assert response.status_code == status
    if status != 200:
        assert b"MOCKLLM_METRICS_TOKEN" in response.content
        assert b"mockllm_" not in response.content
    assert response.headers.get("WWW-Authenticate") == ("Bearer" if status == 401 else None)


def test_the_server_counts_what_it_answers(live: Live) -> None:
    def answered() -> float:
        text = httpx2.get(f"{live.base_url}/metrics").raise_for_status().text
        labels = {"outcome": "complete", "status": "2xx", "match": "matched"}
        return sample(text, "mockllm_requests_total", provider="openai", **labels)

    live.load(scenario("s", says("Hi")))
    before = answered()
    body = {"model": "gpt-4o", "messages": [{"role": "user", "content": "Hello"}]}
    headers = {"authorization": f"Bearer {live.key}"}
    url = f"{live.openai_base_url}/chat/completions"
    httpx2.post(url, json=body, headers=headers).raise_for_status()
    assert answered() == before + 1


def test_the_docs_name_every_figure_of_ours() -> None:
    text = (ROOT / "docs" / "operating.md").read_text()
    names = {
        f"{family.name}_total" if family.type == "counter" else family.name
        for family in registry().collect()
        if family.name.startswith("mockllm_")
    }
    names = {name.replace("mockllm_build", "mockllm_build_info") for name in names}
    assert len(names) > 15
    assert {name for name in names if f"`{name}`" not in text} == set()
