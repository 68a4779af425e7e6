"""A provider that a test installs."""

import json

from msgspec.structs import replace

from scenarios_app.engine.canonical import CanonicalRequest
from scenarios_app.wire.base import Call, Endpoint, Params
from scenarios_app.wire.body import Node
from scenarios_app.wire.openai.chat_request import read_chat
from scenarios_app.wire.openai.dialects.rows import OPENAI
from scenarios_app.wire.openai.models import list_models, read_resource
from scenarios_app.wire.openai.wire import OpenAIChat
from scenarios_app.wire.samples import SampleCall, SampleRequest, SdkSetup
from scenarios_app.wire.upstream import Upstream

KEY = "very-much-a-key-of-acme"
BASE_URL = "https://api.acme.example"
UPSTREAM = Upstream(
    "acme",
    base_url=BASE_URL,
    hosts=("api.acme.example",),
    key_variables=("ACME_API_KEY",),
    base_url_variables=(("ACME_BASE_URL", "/acme"),),
    key_header="x-acme",
    replayed_headers=("x-acme-trace",),
    telemetry_names=("acme.ai",),
)
ROUTING_HEADER = "x-mockllm-company"


def read_acme(call: Call, endpoint: Endpoint, params: Params, body: Node) -> CanonicalRequest:
    return replace(read_chat(call, endpoint, params, body), provider="acme")


class Acme(OpenAIChat):
    """A provider with OpenAI's format below `/acme`; its keys are sent in the header `x-acme`."""

    key_headers = ("x-acme",)

    def __init__(self, upstream: Upstream = UPSTREAM) -> None:
        super().__init__(OPENAI)
        self.name = self.provider = "acme"
        self.title = "Acme"
        self.models = ("acme-1", "acme-2")
        self.prefixes = ("/acme/",)
        self.upstream = upstream
        self.endpoints = (
            replace(self.endpoints[0], pattern="/acme/chat", read=read_acme),
            Endpoint("GET", "/acme/models", read_resource, compute=list_models),
        )

    def sample(self, request: SampleRequest) -> SampleCall:
        sample_call = super().sample(request)
        return replace(sample_call, path="/acme/chat", headers={"x-acme": KEY})

    def sdk_setups(self, origin: str) -> tuple[SdkSetup, ...]:
        return (SdkSetup("Acme", f"{origin}/acme", f'Acme(url="{origin}/acme")'),)

    def api_key(self, call: Call) -> str | None:
        return call.headers.get("x-acme")


class AcmeOnSharedPaths(Acme):
    """Acme with OpenAI's paths; a routing header distinguishes its calls."""

    def __init__(self) -> None:
        super().__init__(replace(UPSTREAM, routing_header=(ROUTING_HEADER, "acme")))
        self.prefixes = ("/v1/",)
        self.endpoints = (replace(self.endpoints[0], pattern="/v1/chat/completions"),)

    def claims(self, call: Call) -> bool:
        return call.headers.get(ROUTING_HEADER) == "acme"


class AcmeForOpenAI(Acme):
    """Acme as another host of OpenAI's models: steps match its requests as provider `openai`."""

    def __init__(self) -> None:
        super().__init__(replace(UPSTREAM, own_path_prefix="/acme", fallback="openai"))
        self.provider = "openai"
        self.endpoints = (replace(self.endpoints[0], read=read_chat),)


def chat(text: str, path: str = "/acme/chat", **headers: str) -> Call:
    body = {"model": "acme-1", "messages": [{"role": "user", "content": text}]}
    header_values = {name.replace("_", "-"): value for name, value in headers.items()}
    return Call("POST", path, {}, {"x-acme": KEY, **header_values}, json.dumps(body).encode())
