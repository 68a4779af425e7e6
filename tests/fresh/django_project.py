"""The files of a small Django project with mockllm among its apps, and tests of its own."""

from pathlib import Path

SETTINGS = """
from pathlib import Path

from mockllm_site.settings_test import *

INSTALLED_APPS = [*INSTALLED_APPS, "shop"]
ROOT_URLCONF = "shop.urls"
FIXTURE_DIRS = [*FIXTURE_DIRS, Path(__file__).parent / "rows"]
"""
POSTGRES_SETTINGS = """
import os

import environ

from shop.settings import *

DATABASES = {"default": environ.Env.db_url_config(os.environ["SHOP_DATABASE"])}
"""
URLS = """
from django.http import HttpResponse
from django.urls import include, path

urlpatterns = [
    path("shop/", lambda request: HttpResponse("the shop")),
    path("", include("mockllm_site.urls")),
]
"""
MANAGE = """
import os, sys
from django.core.management import execute_from_command_line

os.environ["DJANGO_SETTINGS_MODULE"] = "shop.settings"
execute_from_command_line(sys.argv)
"""
PYTEST_INI = """
[pytest]
DJANGO_SETTINGS_MODULE = shop.settings
python_files = test_*.py
addopts = -p no:asyncio -p no:schemathesis -p no:hypothesispytest -p no:cacheprovider
filterwarnings =
    error
    ignore:unclosed database in <sqlite3.Connection:ResourceWarning
"""
ROWS = """
[
 {"model": "scenarios_app.scenario", "fields": {"name": "cut"}},
 {"model": "scenarios_app.step", "fields": {"scenario": ["cut"], "order": 1,
  "document": {"consume": false, "match": {"messages": ["Cut"]},
   "produce": {"text": "never read", "fault": {"kind": "disconnect"}}}}}
]
"""
TESTS = '''
import json

import httpx2
from django.core.management import call_command
from django.test import LiveServerTestCase, TestCase, TransactionTestCase
from openai import OpenAI

COMPLETIONS, SEND = "/v1/chat/completions", "/api/get_chat_response_stream"
KEY = {"Authorization": "Bearer any"}
DONE = b"data: [DONE]\\n\\n"


def request(text="Hello"):
    return {"model": "gpt-4o", "stream": True, "messages": [{"role": "user", "content": text}]}


def message(**fields):
    return {"client_id": "me", "message": "Hello", **fields}


def events_of(stream):
    return [json.loads(line[6:]) for line in stream.decode().split("\\n") if line[:5] == "data:"]


def pair():
    return message(profile_a=None, profile_b=None)


class Sync:
    """Requests of Django's synchronous client, whose streams are whole."""

    def post(self, path, body, **headers):
        return self.client.post(path, body, "application/json", headers=headers)

    def read(self, response):
        """Return the stream, which each way of reading gives."""
        self.assertEqual(response.status_code, 200, response.content)
        body = response.content
        self.assertEqual(body, response.getvalue())
        self.assertEqual(body, b"".join(response))
        self.assertEqual(body, b"".join(response.streaming_content))
        self.assertEqual(response["content-type"].partition(";")[0], "text/event-stream")
        return body

    async def read_pieces(self, path, body):
        response = await self.async_client.post(
            path, body, content_type="application/json", headers=KEY
        )
        return b"".join([piece async for piece in response.streaming_content])


class RowsOfTheTest(Sync, TestCase):
    fixtures = ["test_mode"]

    def test_provider_streams_to_each_client(self):
        self.assertTrue(self.read(self.post(COMPLETIONS, request(), **KEY)).endswith(DONE))

    async def test_provider_streams_to_the_async_client(self):
        self.assertTrue((await self.read_pieces(COMPLETIONS, request())).endswith(DONE))

    def test_cut_answer_is_an_error(self):
        call_command("loaddata", "cut", verbosity=0)
        response = self.post(COMPLETIONS, request("Cut it"), **KEY)
        self.assertEqual(response.status_code, 500)
        self.assertIn("closes the connection", response.json()["error"]["message"])

    def test_control_api_is_open(self):
        scenario = {"name": "mine", "steps": [{"produce": {"text": "Mine."}}]}
        self.assertEqual(self.post("/control/scenarios", scenario).status_code, 201)
        listed = self.client.get("/control/scenarios").json()["scenarios"]
        self.assertEqual([one["name"] for one in listed], ["mine", "test-mode"])

    def test_chat_names_the_class_that_it_needs(self):
        answer = self.post(SEND, message())
        self.assertEqual(answer.status_code, 503)
        self.assertIn("TransactionTestCase", answer.json()["message"])


class CommittedRows(Sync, TransactionTestCase):
    fixtures = ["test_mode"]

    def test_chat_streams_to_the_client(self):
        for path, body in ((SEND, message()), ("/api/ab/stream", pair())):
            response = self.post(path, body)
            events = events_of(self.read(response))
            self.assertEqual(events[-1]["type"], "done")
            trace = events[0]["trace_id"]
            again = self.client.get(f"/api/stream/{trace}", {"client_id": "me", "after": 1})
            self.assertEqual(events_of(self.read(again))[-1]["type"], "done")
        listed = self.client.get("/api/list_conversations", {"client_id": "me"}).json()
        self.assertEqual(len(listed["conversations"]), 2)

    async def test_chat_streams_to_the_async_client(self):
        self.assertEqual(events_of(await self.read_pieces(SEND, message()))[-1]["type"], "done")

    def test_provider_streams_to_each_client(self):
        self.assertTrue(self.read(self.post(COMPLETIONS, request(), **KEY)).endswith(DONE))


class WithoutFixtures(Sync, TransactionTestCase):
    def test_chat_names_the_missing_fixture(self):
        last = events_of(self.read(self.post(SEND, message())))[-1]
        self.assertEqual(last["type"], "error")
        self.assertIn('fixtures = ["test_mode"]', last["message"])

    def test_loaddata_answers_the_chat(self):
        call_command("loaddata", "test_mode", verbosity=0)
        self.assertEqual(events_of(self.read(self.post(SEND, message())))[-1]["type"], "done")


class LiveServer(LiveServerTestCase):
    fixtures = ["test_mode"]

    def send(self, method, path, **options):
        return httpx2.request(method, self.live_server_url + path, timeout=60, **options)

    def test_sdk_streams(self):
        url = f"{self.live_server_url}/v1"
        with OpenAI(base_url=url, api_key="sdk", max_retries=0) as client:
            chunks = list(client.chat.completions.create(**request()))
        self.assertEqual(chunks[-1].choices[0].finish_reason, "stop")

    def test_chat_streams(self):
        events = events_of(self.send("POST", SEND, json=message()).content)
        self.assertEqual([events[0]["type"], events[-1]["type"]], ["started", "done"])

    def test_control_api_is_open_to_this_machine_alone(self):
        self.assertEqual(self.send("GET", "/control/requests").status_code, 200)
        for headers in ({"X-Forwarded-For": "127.0.0.1"}, {"Forwarded": "for=127.0.0.1"}):
            control = self.send("GET", "/control/requests", headers=headers)
            chat = self.send("POST", SEND, json=message(), headers=headers)
            self.assertEqual((control.status_code, chat.status_code), (403, 401))

    def test_own_pages_and_those_of_mockllm_are_served(self):
        self.assertEqual(self.send("GET", "/shop/").text, "the shop")
        self.assertIn("Playground", self.send("GET", "/chat/").text)
'''
PYTESTS = """
import httpx2
import pytest

from shop.tests import COMPLETIONS, DONE, KEY, SEND, events_of, message, request


@pytest.mark.django_db(transaction=True)
def test_live_server_is_open(live_server, db_fixture):
    for path in ("/control/requests", "/chat/"):
        assert httpx2.get(live_server.url + path).status_code == 200
    answer = httpx2.post(live_server.url + SEND, json=message(), timeout=60)
    assert events_of(answer.content)[-1]["type"] == "done"


@pytest.mark.django_db
def test_client_streams(client, db_fixture):
    response = client.post(COMPLETIONS, request(), "application/json", headers=KEY)
    assert response.getvalue().endswith(DONE)


@pytest.fixture
def db_fixture():
    from django.core.management import call_command

    call_command("loaddata", "test_mode", verbosity=0)
"""
FILES = {
    "manage.py": MANAGE,
    "pytest.ini": PYTEST_INI,
    "shop/__init__.py": "",
    "shop/settings.py": SETTINGS,
    "shop/postgres_settings.py": POSTGRES_SETTINGS,
    "shop/urls.py": URLS,
    "shop/tests.py": TESTS,
    "shop/test_shop.py": PYTESTS,
    "shop/rows/cut.json": ROWS,
}


def write_project(folder: Path) -> None:
    """Write the project's files into an empty folder."""
    for name, text in FILES.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
