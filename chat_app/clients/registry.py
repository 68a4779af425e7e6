"""Chooses the client for a profile by its provider, with a route to its endpoint."""

import os
import re
from contextlib import suppress
from importlib.util import find_spec

from django.conf import settings
from django.utils.module_loading import import_string

from chat_app.clients.anthropic import AnthropicClient
from chat_app.clients.failures import INVALID_KEY
from chat_app.clients.google import GoogleClient
from chat_app.clients.openai import HarnessClient, OpenAIClient
from chat_app.clients.providers import TEST_LLM, ApiFamily, Provider, provider_of
from chat_app.clients.sdk import SdkClient
from chat_app.clients.transports import EndpointTransport, Route, check_base_url, check_key_host
from chat_app.errors import SERVICE_UNAVAILABLE, UNAUTHORIZED, VALIDATION_ERROR, ChatError
from chat_app.models import MOCK_URL, ModelProfile
from mockllm_site.kit import env, setting_kinds

SESSION_HEADER = "X-MockLLM-Session"
# The mock requires any key.
MOCK_KEY = "mock"
_KEY = re.compile(r"[!-~]+")


def get_client(profile: ModelProfile, *, session: str) -> SdkClient:
    """Return the client for the profile's provider. Does no I/O. `session` is that of calls to the
    mock. Raises ChatError if the endpoint, the key or the SDK is missing."""
    provider_id, base_url = profile.provider_id.strip(), profile.base_url.strip()
    if not provider_id:
        raise ChatError(VALIDATION_ERROR, "Provider is required", field="provider_id")
    provider = provider_of(provider_id)
    if not base_url:
        check_base_url(provider_id, base_url)
    if is_in_process(provider_id, base_url):
        route = _mock_route(provider.family, session)
    else:
        route = _build_route(provider, base_url or provider.base_url, key_env=profile.api_key_env)
    _check_sdk_installed(provider.family)
    match provider_id:
        case "anthropic":
            return AnthropicClient(route)
        case "google":
            return GoogleClient(route)
        case "openai":
            return OpenAIClient(route, is_openai=True)
        case _ if provider_id == TEST_LLM:
            return HarnessClient(route)
        case _:
            return OpenAIClient(route)


def is_in_process(provider_id: str, base_url: str) -> bool:
    """True if this server's mock answers; in test mode always."""
    return settings.MOCKLLM_ENV == "test" or provider_id == TEST_LLM or base_url == MOCK_URL


def _mock_route(family: ApiFamily, session: str) -> Route:
    """Return a route to the mock in process, under the provider's base URL."""
    headers = {SESSION_HEADER: session, family.key_header: family.key_form.format(MOCK_KEY)}
    return Route(family.default_base_url, import_string(settings.MOCKLLM_TRANSPORT)(), headers)


def _build_route(provider: Provider, base_url: str, *, key_env: str) -> Route:
    """Return a route to a provider's own server, with the key if there is one. Raises ChatError."""
    transport = EndpointTransport(base_url)
    variable = key_env.strip()
    if variable:
        check_key_host(variable, base_url)
    key = _read_key(variable, needed=provider.needs_key)
    family = provider.family
    headers = {family.key_header: family.key_form.format(key)} if key else {}
    return Route(base_url, transport, headers, key)


def _read_key(name: str, *, needed: bool) -> str:
    """Return the key in a variable, or "" without a name; raises ChatError for a variable that is
    not set or holds no key, and without a name if a key is `needed`."""
    if not name:
        if needed:
            raise ChatError(UNAUTHORIZED, f"{INVALID_KEY}: the profile names no variable")
        return ""
    key = variable_text(name)
    if not _KEY.fullmatch(key):
        wrong = "is not set" if not key else "holds something that is no key"
        raise ChatError(UNAUTHORIZED, f"{INVALID_KEY}: the variable {name} {wrong}")
    return key


def variable_text(name: str) -> str:
    """Return a variable of the environment or `.env` without outer white space; "" if not set."""
    return (os.environ.get(name) or env.variables().get(name, "")).strip()


def _check_sdk_installed(family: ApiFamily) -> None:
    """Raise ChatError if the SDK of these providers is not installed."""
    with suppress(ModuleNotFoundError):
        if find_spec(family.module) is not None:
            return
    hint = setting_kinds.MISSING_PACKAGE.format("chat")
    raise ChatError(SERVICE_UNAVAILABLE, f"Talking to this provider {hint}")
