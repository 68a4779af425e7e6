"""The settings name the transports of in-process clients."""

from typing import Any

import httpx2
import openai
import pytest
from asgiref.sync import sync_to_async
from django.conf import settings
from django.utils.module_loading import import_string

from scenarios_app.engine.document import load_documents
from scenarios_app.store.documents import load
from tests.serving.pipelines import scenario, text_step

HELLO: Any = [{"role": "user", "content": "Hello"}]


@pytest.mark.django_db(transaction=True)
async def test_the_transport_that_the_settings_name_answers_without_a_socket() -> None:
    await sync_to_async(load)(
        load_documents(scenario("named by a setting", text_step("In process.")))
    )
    http = httpx2.AsyncClient(transport=import_string(settings.MOCKLLM_TRANSPORT)())
    async with openai.AsyncOpenAI(
        base_url="http://mock.invalid/v1", api_key="k", http_client=http, max_retries=0
    ) as client:
        answer = await client.chat.completions.create(model="gpt-4o", messages=HELLO)
    assert answer.choices[0].message.content == "In process."


@pytest.mark.django_db(transaction=True)
def test_sync_transport_setting_names_the_sync_transport() -> None:
    load(load_documents(scenario("named by a setting", text_step("In process."))))
    http = httpx2.Client(transport=import_string(settings.MOCKLLM_SYNC_TRANSPORT)())
    with openai.OpenAI(
        base_url="http://mock.invalid/v1", api_key="k", http_client=http, max_retries=0
    ) as client:
        answer = client.chat.completions.create(model="gpt-4o", messages=HELLO)
    assert answer.choices[0].message.content == "In process."
