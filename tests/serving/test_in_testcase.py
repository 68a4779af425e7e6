"""Inside a Django TestCase every door sees the rows of the test's own transaction."""

import json
from typing import Any

import httpx2
import openai
from asgiref.sync import sync_to_async
from django.test import TestCase

from scenarios_app.engine.document import load_documents
from scenarios_app.journal import journal
from scenarios_app.models import Scenario, ServedRequest
from scenarios_app.serving.sync_transport import SyncMockTransport
from scenarios_app.serving.transport import MockTransport
from scenarios_app.store.documents import load
from tests.serving.pipelines import chat, says, scenario

HELLO: Any = [{"role": "user", "content": "Hello"}]


class InTestCase(TestCase):
    def store(self, text: str) -> None:
        load(load_documents(scenario("own rows", says(text))))

    def asked_by_client(self) -> str:
        call = chat()
        headers = dict(call.headers)
        answer = self.client.post(
            call.path, call.body, content_type="application/json", headers=headers
        )
        assert answer.status_code == 200, answer.content
        return str(json.loads(answer.content)["choices"][0]["message"]["content"])

    def asked_by_sdk(self) -> str | None:
        http = httpx2.Client(transport=SyncMockTransport())
        with openai.OpenAI(
            base_url="http://mock/v1", api_key="k", http_client=http, max_retries=0
        ) as client:
            answer = client.chat.completions.create(model="gpt-4o", messages=HELLO)
        return answer.choices[0].message.content

    def test_the_test_client_and_the_transport_see_what_was_just_saved(self) -> None:
        self.store("first")
        assert self.asked_by_client() == self.asked_by_sdk() == "first"
        self.store("second")
        assert self.asked_by_client() == self.asked_by_sdk() == "second"

    def test_the_journal_is_the_tests_own_too(self) -> None:
        self.store("journalled")
        self.asked_by_sdk()
        assert journal.flush()
        assert ServedRequest.objects.filter(scenario="own rows").count() == 1

    def test_nothing_of_another_test_is_here(self) -> None:
        assert not Scenario.objects.exists()
        call = chat()
        headers = dict(call.headers)
        answer = self.client.post(
            call.path, call.body, content_type="application/json", headers=headers
        )
        assert answer.status_code == 404

    async def test_an_async_test_sees_them_too(self) -> None:
        await sync_to_async(self.store)("async")
        http = httpx2.AsyncClient(transport=MockTransport())
        async with openai.AsyncOpenAI(
            base_url="http://mock/v1", api_key="k", http_client=http, max_retries=0
        ) as client:
            answer = await client.chat.completions.create(model="gpt-4o", messages=HELLO)
        assert answer.choices[0].message.content == "async"
