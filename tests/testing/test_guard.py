"""The guard of the plugin stops and explains requests of any client to real providers. No name is
resolved in these tests."""

import pytest

from tests.testing.conftest import Run

# Every SDK is imported, which takes long on a busy machine.
pytestmark = pytest.mark.timeout(600)
# Records each name to be resolved, without network access.
RESOLVER = """
import socket

import pytest


@pytest.fixture(autouse=True)
def _no_network(monkeypatch):
    resolve = socket.getaddrinfo

    def getaddrinfo(host, *args, **options):
        if host in ("127.0.0.1", "localhost"):
            return resolve(host, *args, **options)
        with open("resolved.txt", "a") as file:
            print(host, file=file)
        raise socket.gaierror(socket.EAI_NONAME, "no network")

    monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)
"""
APP = """
from functools import cache, lru_cache

import anthropic
import ollama
import openai
from google import genai

client: openai.OpenAI = openai.OpenAI(api_key="sk-real")
aclient = openai.AsyncOpenAI(api_key="sk-real")
azure = openai.AzureOpenAI(
    api_key="sk-real", api_version="2025-01-01", azure_endpoint="https://ours.openai.azure.com"
)
cloud = ollama.Client(host="https://ollama.com")
gemini = [genai.Client(api_key="real")]
groq = {"client": openai.OpenAI(api_key="k", base_url="https://api.groq.com/openai/v1")}
MESSAGES = [{"role": "user", "content": "hello"}]


class Agent:
    def __init__(self):
        self.llm = anthropic.Anthropic(api_key="sk-ant-real")


agent = Agent()


def ask(client=client):
    answer = client.chat.completions.create(model="gpt-4o", messages=MESSAGES)
    return answer.choices[0].message.content
"""
STOPPED_TESTS = """
import asyncio
import http.client
import urllib.request

import llm
import pytest
import requests
import urllib3
import uvloop
import websockets.asyncio.client
import websockets.sync.client
from llm import agent


def test_openai(mockllm):
    mockllm.on("hello").reply("Hi.")
    llm.ask()


def test_azure(mockllm):
    llm.ask(llm.azure)


def test_groq(mockllm):
    llm.ask(llm.groq["client"])


def test_anthropic(mockllm):
    agent.llm.messages.create(model="m", max_tokens=9, messages=llm.MESSAGES)


def test_gemini(mockllm):
    llm.gemini[0].models.generate_content(model="gemini-2.5-flash", contents="hello")


def test_ollama(mockllm):
    llm.cloud.chat("llama3", messages=llm.MESSAGES)


async def test_coroutine(mockllm):
    await llm.aclient.chat.completions.create(model="gpt-4o", messages=llm.MESSAGES)


def test_uvloop(mockllm):
    uvloop.run(test_coroutine(mockllm))


OTHERS = [
    lambda: http.client.HTTPSConnection("API.openai.com.").request("GET", "/v1/models"),
    lambda: urllib.request.urlopen("https://openrouter.ai/api/v1/models"),
    lambda: urllib3.request("GET", "https://bedrock-runtime.eu-west-1.amazonaws.com/"),
    lambda: requests.get("https://us-central1-aiplatform.googleapis.com/v1"),
    lambda: websockets.sync.client.connect("wss://api.openai.com/v1/responses"),
    lambda: asyncio.run(connect()),
    # A test that catches every exception does not hide it from the verdict.
    lambda: llm.ask(),
]


async def connect():
    await websockets.asyncio.client.connect("wss://api.openai.com/v1/responses")


def test_others(mockllm):
    for send in OTHERS:
        with pytest.raises(BaseException, match="^mockllm: stopped a request to "):
            send()
"""
EXPLANATION_LINES = (
    "mockllm: stopped a request to api.openai.com, a real provider, before it was sent (llm.py:*)",
    "  `client` of llm (openai.OpenAI, llm.py:8) calls https://api.openai.com/v1/: it was made "
    "before the fixture mockllm set OPENAI_BASE_URL",
    "  `azure` of llm (openai.AzureOpenAI, llm.py:10) calls https://ours.openai.azure.com/*: it "
    "was made before the fixture mockllm was set up, or with this address",
    "  `groq[[]'client']` of llm (openai.OpenAI, llm.py:15) calls https://api.groq.com/openai/v1/: "
    "give it base_url=http://127.0.0.1:*/groq/openai/v1",
    "  `agent.llm` of llm (anthropic.Anthropic, llm.py:24) calls https://api.anthropic.com*: it "
    "was made before the fixture mockllm set ANTHROPIC_BASE_URL",
    "  `gemini[[]0]` of llm (google.genai.Client, llm.py:14) calls *: it was made before the "
    "fixture mockllm set GOOGLE_GEMINI_BASE_URL",
    "  `cloud` of llm (ollama.Client, llm.py:13) calls https://ollama.com*: it was made before "
    "the fixture mockllm set OLLAMA_HOST",
    "  `aclient` of llm (openai.AsyncOpenAI, llm.py:9) calls https://api.openai.com/v1/: *",
    "  make clients in the test, in a fixture, or in a function that they call",
    "  a test that is to call the provider: @pytest.mark.mockllm(guard=False)",
    "stopped a request to openrouter.ai, *(test_stopped.py:*)",
    "  send it to http://127.0.0.1:*/openrouter/api/v1, the test's server",
    "stopped a request to bedrock-runtime.eu-west-1.amazonaws.com, *",
    "stopped a request to us-central1-aiplatform.googleapis.com, *",
    "  mockllm has no such API",
)


def resolved_names(pytester: pytest.Pytester) -> list[str]:
    file = pytester.path / "resolved.txt"
    return file.read_text().split() if file.exists() else []


def test_request_to_a_provider_is_stopped_and_explained(
    run: Run, pytester: pytest.Pytester
) -> None:
    files = {"conftest": RESOLVER, "llm": APP, "test_stopped": STOPPED_TESTS}
    result = run("-o", "asyncio_mode=auto", **files)
    result.assert_outcomes(failed=STOPPED_TESTS.count("def test_"))
    for line in EXPLANATION_LINES:
        result.stdout.fnmatch_lines_random([line])
    # No SDK has caught the failure, and none has tried again.
    result.stdout.no_fnmatch_line("*APIConnectionError*")
    assert resolved_names(pytester) == []


IN_THREADS = """
import http.client
import threading
from concurrent.futures import ThreadPoolExecutor

import llm
import openai
import pytest


def test_result_of_a_thread(mockllm):
    mockllm.on("hello").reply("Hi.")
    with ThreadPoolExecutor() as pool:
        assert pool.submit(llm.ask, llm.client.with_options(max_retries=0)).result() == "Hi."


def test_thread_whose_error_nobody_sees(mockllm):
    def ask():
        with pytest.raises(openai.APIConnectionError):
            llm.ask(llm.client.with_options(max_retries=0))

    thread = threading.Thread(target=ask)
    thread.start()
    thread.join()


def test_telemetry(mockllm):
    mockllm.on("hello").reply("Hi.")

    def export():
        with pytest.raises(OSError, match="stopped a request to api.openai.com"):
            http.client.HTTPSConnection("api.openai.com").request("POST", "/v1/traces/ingest")

    thread = threading.Thread(target=export, daemon=True)
    thread.start()
    thread.join()
    assert llm.ask(openai.OpenAI()) == "Hi."
"""


def test_request_of_a_thread_is_stopped_with_an_error_of_the_network(
    run: Run, pytester: pytest.Pytester
) -> None:
    options = ("-W", "default::UserWarning")
    result = run(*options, conftest=RESOLVER, llm=APP, test_threads=IN_THREADS)
    result.assert_outcomes(passed=1, failed=2)
    result.stdout.fnmatch_lines(
        [
            "E *openai.APIConnectionError: Connection error.",
            "*Captured mockllm teardown*",
            "stopped a request to api.openai.com, *(llm.py:*)",
            "never served: 01 on('hello'), step 1",
            "* test_thread_whose_error_nobody_sees *",
            "mockllm: stopped a request to api.openai.com, *",
            "*MockllmWarning: stopped a request to api.openai.com, *(test_threads.py:*)",
        ]
    )
    assert resolved_names(pytester) == []


ALLOWED = """
import llm
import openai
import pytest


def ask():
    with pytest.raises(openai.APIConnectionError):
        llm.ask(llm.client.with_options(max_retries=0))


def test_without_the_fixture():
    ask()


@pytest.mark.mockllm(guard=False)
def test_marked(mockllm):
    ask()


def test_guarded(mockllm):
    ask()
"""
INI = ("-o", "mockllm_guard=false")


@pytest.mark.parametrize(
    ("options", "passed"),
    [
        ((), 2),
        (("--no-mockllm-guard",), 3),
        (INI, 3),
        ((*INI, "--mockllm-guard"), 2),
    ],
)
def test_request_is_sent_where_the_guard_is_off(
    run: Run, pytester: pytest.Pytester, options: tuple[str, ...], passed: int
) -> None:
    result = run(*options, conftest=RESOLVER, llm=APP, test_allowed=ALLOWED)
    result.assert_outcomes(passed=passed, failed=3 - passed)
    assert resolved_names(pytester) == ["api.openai.com"] * passed


RECORDING = """
import llm
import pytest


@pytest.mark.mockllm(cassette=True)
def test_it(mockllm):
    llm.ask()
"""


def test_request_that_would_miss_its_recording_is_stopped(
    run: Run, pytester: pytest.Pytester
) -> None:
    options = ("--mockllm-record=all",)
    result = run(*options, conftest=RESOLVER, llm=APP, test_recording=RECORDING)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["mockllm: stopped a request to api.openai.com, *"])
    assert resolved_names(pytester) == [] and not (pytester.path / "cassettes").exists()


THROUGH_A_PROXY = """
import asyncio
import gc
import socket
import ssl
import time
from threading import Thread

import openai
import pytest

MESSAGES = [{"role": "user", "content": "hello"}]


def wait_for_heads(heads):
    until = time.monotonic() + 10
    while len(heads) < 2 and time.monotonic() < until:
        gc.collect(), time.sleep(0.01)
    return heads


@pytest.fixture
def proxy(monkeypatch):
    with socket.create_server(("127.0.0.1", 0)) as listener:
        heads = []

        def serve():
            while True:
                try:
                    connection, _ = listener.accept()
                except OSError:
                    return
                with connection:
                    heads.append(connection.recv(65536).split(b"\\r\\n")[0])
                    connection.sendall(b"HTTP/1.1 200 OK\\r\\n\\r\\n")
                    # The bytes in the tunnel.
                    heads.append(connection.recv(65536))

        thread = Thread(target=serve)
        thread.start()
        monkeypatch.setenv("HTTPS_PROXY", f"http://127.0.0.1:{listener.getsockname()[1]}")
        yield heads
        listener.shutdown(socket.SHUT_RDWR)
        thread.join()


@pytest.fixture(params=[openai.OpenAI])
def client(proxy, request):
    return request.param(api_key="sk-real", max_retries=0)


def test_tunnel(client, proxy, mockllm):
    with pytest.raises(BaseException, match="stopped a request to api.openai.com"):
        client.chat.completions.create(model="m", messages=MESSAGES)
    client.close()
    assert wait_for_heads(proxy) == [b"CONNECT api.openai.com:443 HTTP/1.1", b""]


@pytest.mark.parametrize("client", [openai.AsyncOpenAI], indirect=True)
async def test_tunnel_of_a_coroutine(client, proxy, mockllm):
    with pytest.raises(openai.APIConnectionError):
        await client.chat.completions.create(model="m", messages=MESSAGES)
    assert wait_for_heads(proxy) == [b"CONNECT api.openai.com:443 HTTP/1.1", b""]


async def test_address_from_another_resolver(proxy, mockllm):
    port = int(__import__("os").environ["HTTPS_PROXY"].rpartition(":")[2])
    loop = asyncio.get_running_loop()
    options = {"ssl": True, "server_hostname": "api.openai.com"}
    with pytest.raises(ssl.SSLError, match="stopped a request to api.openai.com"):
        await loop.create_connection(asyncio.Protocol, "127.0.0.1", port, **options)
"""


def test_request_through_a_proxy_is_stopped_before_its_handshake(
    run: Run, pytester: pytest.Pytester
) -> None:
    files = {"conftest": RESOLVER, "test_proxy": THROUGH_A_PROXY}
    # asyncio does not close the socket whose handshake fails in this way.
    ignored = (
        "-W",
        "ignore::pytest.PytestUnraisableExceptionWarning",
        "-W",
        "ignore::ResourceWarning",
    )
    result = run("-o", "asyncio_mode=auto", *ignored, **files)
    # Each test body passes; the verdict fails it and has the explanation.
    result.assert_outcomes(failed=3)
    verdicts = [line for line in result.outlines if line.startswith("mockllm: stopped a request")]
    assert len(verdicts) == 3
    result.stdout.no_fnmatch_line("*AssertionError*")


WITHOUT_REQUESTS = """
from functools import cache, lru_cache

import anthropic
import openai
import pytest

MESSAGES = [{"role": "user", "content": "hello"}]
gateway = openai.OpenAI(api_key="k", base_url="http://llm.corp.example/v1")


@cache
def make_openai():
    return openai.OpenAI()


@lru_cache(maxsize=4)
def make_anthropic(timeout):
    return anthropic.Anthropic(timeout=timeout)


def test_first(mockllm):
    mockllm.on("hello").reply("Hi.")
    make_openai().chat.completions.create(model="gpt-4o", messages=MESSAGES)
    make_anthropic(5).messages.create(model="m", max_tokens=9, messages=MESSAGES)


def test_second(mockllm):
    mockllm.on("hello").reply("Hi.")
    make_openai().models.list()


def test_failing_assertion(mockllm):
    mockllm.on("hello").reply("Hi.")
    assert "this" == "that"


def test_other_reason(mockllm):
    mockllm.on("hello").reply("Hi.")
    mockllm.on("never").reply("Hi.")
    openai.OpenAI().chat.completions.create(model="gpt-4o", messages=MESSAGES)
"""


def test_verdict_without_requests_names_the_clients_that_call_elsewhere(run: Run) -> None:
    result = run(conftest=RESOLVER, test_idle=WITHOUT_REQUESTS)
    result.assert_outcomes(passed=1, failed=3)
    lines = [
        "*never served: 01 on('hello'), step 1",
        "`gateway` of test_idle (openai.OpenAI, test_idle.py:8) calls http://llm.corp.example"
        "/v1/: it was made before the fixture mockllm was set up, or with this address",
        "`make_anthropic()` of test_idle (anthropic.Anthropic, test_idle.py:17) has the key "
        "of another test",
        "`make_openai()` of test_idle (openai.OpenAI, test_idle.py:12) has the key of another test",
        "make clients in the test, in a fixture, or in a function that they call",
    ]
    result.stdout.fnmatch_lines(["* test_second *", *lines, "* test_failing_assertion *", *lines])
    # In CI pytest repeats whole messages in its summary.
    text = result.stdout.str().partition("short test summary")[0]
    assert text.count("`gateway` of") == 2
