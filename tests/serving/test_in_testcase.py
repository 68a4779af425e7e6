"""Inside a Django TestCase every transport sees the rows of the test's transaction."""

import json
import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from threading import Event
from typing import Any

import httpx2
import openai
import pytest
from asgiref.sync import sync_to_async
from django.db import connection
from django.test import AsyncClient, TestCase

from mockllm_site.kit import testcase
from scenarios_app.engine.document import load_documents
from scenarios_app.journal import journal
from scenarios_app.models import Scenario, ServedRequest
from scenarios_app.serving.sync_transport import SyncMockTransport
from scenarios_app.serving.transport import MockTransport
from scenarios_app.store.documents import load
from tests.serving.pipelines import chat, scenario, text_step

HELLO: Any = [{"role": "user", "content": "Hello"}]


class InTestCase(TestCase):
    def store(self, text: str) -> None:
        load(load_documents(scenario("own rows", text_step(text))))

    def ask_test_client(self) -> str:
        call = chat()
        headers = dict(call.headers)
        answer = self.client.post(
            call.path, call.body, content_type="application/json", headers=headers
        )
        assert answer.status_code == 200, answer.content
        return str(json.loads(answer.content)["choices"][0]["message"]["content"])

    def ask_sdk(self) -> str | None:
        http = httpx2.Client(transport=SyncMockTransport())
        with openai.OpenAI(
            base_url="http://mock/v1", api_key="k", http_client=http, max_retries=0
        ) as client:
            answer = client.chat.completions.create(model="gpt-4o", messages=HELLO)
        return answer.choices[0].message.content

    def test_the_test_client_and_the_transport_see_what_was_just_saved(self) -> None:
        self.store("first")
        assert self.ask_test_client() == self.ask_sdk() == "first"
        self.store("second")
        assert self.ask_test_client() == self.ask_sdk() == "second"

    def test_journal_rows_are_in_the_transaction(self) -> None:
        self.store("journalled")
        self.ask_sdk()
        assert journal.flush()
        assert ServedRequest.objects.filter(scenario="own rows").count() == 1

    def test_rows_of_other_tests_are_not_visible(self) -> None:
        assert not Scenario.objects.exists()
        call = chat()
        headers = dict(call.headers)
        answer = self.client.post(
            call.path, call.body, content_type="application/json", headers=headers
        )
        assert answer.status_code == 404

    async def test_async_test_sees_its_rows(self) -> None:
        await sync_to_async(self.store)("async")
        http = httpx2.AsyncClient(transport=MockTransport())
        async with openai.AsyncOpenAI(
            base_url="http://mock/v1", api_key="k", http_client=http, max_retries=0
        ) as client:
            answer = await client.chat.completions.create(model="gpt-4o", messages=HELLO)
        assert answer.choices[0].message.content == "async"


CHAT = {"client_id": "c", "message": "Hello", "conversation_id": None, "profile": None}


class ChatInTestCase(TestCase):
    def test_chat_fails_immediately_and_names_the_transaction(self) -> None:
        started = time.monotonic()
        answer = self.client.post(
            "/api/get_chat_response_stream", CHAT, content_type="application/json"
        )
        # Before, it waited 20 s for the database.
        assert time.monotonic() - started < 10
        assert answer.status_code == 503
        assert "transaction=True" in answer.json()["message"]

    def test_conversation_can_be_created_by_the_sync_client(self) -> None:
        body = {"client_id": "c", "title": "Mine"}
        answer = self.client.post("/api/new_conversation", body, content_type="application/json")
        assert answer.status_code == 200


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/api/get_chat_response_stream", CHAT),
        ("/api/new_conversation", {"client_id": "c", "title": "Mine"}),
        ("/control/reset", {"session": "a"}),
    ],
)
async def test_async_request_in_a_transaction_fails_immediately(
    async_client: AsyncClient, path: str, body: Any
) -> None:
    started = time.monotonic()
    answer = await async_client.post(path, body, content_type="application/json")
    assert time.monotonic() - started < 10
    assert answer.status_code == 503 and "transaction=True" in json.loads(answer.content)["message"]


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(
    "path", ["/control/state?session=a", "/api/list_conversations?client_id=c", "/metrics"]
)
async def test_async_client_reaches_what_the_sync_client_does(
    async_client: AsyncClient, path: str
) -> None:
    assert (await async_client.get(path)).status_code == 200


NO_TESTS_CODE = """
import django
django.setup()
import rest_framework.test
from django.db import connection
from mockllm_site.kit import testcase
connection.ensure_connection()
print(len(testcase._connections), testcase._is_testing)
"""


def test_process_without_test_runner_tracks_no_connection() -> None:
    """Pages of APIs import Django REST framework's test client."""
    variables = {**os.environ, "DJANGO_SETTINGS_MODULE": "mockllm_site.settings_test"}
    command = [sys.executable, "-c", NO_TESTS_CODE]
    done = subprocess.run(command, env=variables, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["0", "False"]


def test_running_connection_is_looked_for_while_other_threads_connect(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(testcase, "_connections", type(testcase._connections)())
    interval, done, opened = sys.getswitchinterval(), Event(), []

    def open_connections() -> None:
        while not done.is_set():
            opened.append(connection.copy())
            testcase.track_connection(connection=opened[-1])

    with ThreadPoolExecutor(1) as pool:
        sys.setswitchinterval(1e-6)
        try:
            opening = pool.submit(open_connections)
            assert [testcase.running_connection() for _ in range(300)] == [None] * 300
        finally:
            done.set()
            sys.setswitchinterval(interval)
        opening.result()
