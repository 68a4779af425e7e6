"""The client of a profile: by its provider, with a route to where its calls may go."""

import os
import re
from importlib.util import find_spec

from django.conf import settings
from django.utils.module_loading import import_string

from chat_app.clients.anthropic import AnthropicClient
from chat_app.clients.failures import INVALID_KEY
from chat_app.clients.google import GoogleClient
from chat_app.clients.openai import HarnessClient, OpenAIClient
from chat_app.clients.providers import TEST_LLM, Family, Provider, provider_of
from chat_app.clients.transports import Dialing, Route, check_base_url, check_key_host
from chat_app.errors import SERVICE_UNAVAILABLE, UNAUTHORIZED, VALIDATION_ERROR, ChatError
from chat_app.models import MOCK_URL, ModelProfile
from chat_app.values.model_call import LlmClient
from mockllm_site.kit import env

SESSION_HEADER = "X-MockLLM-Session"
# The mock wants to see a key, any key.
MOCK_KEY = "mock"
_KEY = re.compile(r"[!-~]+")


def get_client(profile: ModelProfile, *, session: str) -> LlmClient:
    """The client that the profile's provider wants. Does no I/O.

    `session` is the mock's, for calls that it answers in process. Raises ChatError where no call
    can be made: no endpoint for it, no key, no SDK.
    """
    provider_id, base_url = profile.provider_id.strip(), profile.base_url.strip()
    if not provider_id:
        raise ChatError(VALIDATION_ERROR, "Provider is required", field="provider_id")
    provider = provider_of(provider_id)
    if not base_url:
        check_base_url(provider_id, base_url)
    if in_process(provider_id, base_url):
        route = _mock_route(provider.family, session)
    else:
        route = _route(provider, base_url or provider.base_url, key_env=profile.api_key_env)
    _need_sdk(provider.family)
    match provider_id:
        case "anthropic":
            return AnthropicClient(route)
        case "google":
            return GoogleClient(route)
        case "openai":
            return OpenAIClient(route, genuine=True)
        case _ if provider_id == TEST_LLM:
            return HarnessClient(route)
        case _:
            return OpenAIClient(route)


def in_process(provider_id: str, base_url: str) -> bool:
    """Whether this server's own mock answers; in test mode it answers for everybody."""
    return settings.MOCKLLM_ENV == "test" or provider_id == TEST_LLM or base_url == MOCK_URL


def _mock_route(family: Family, session: str) -> Route:
    """The provider's own address, which nobody ever connects to."""
    headers = {SESSION_HEADER: session, family.key_header: family.key_form.format(MOCK_KEY)}
    return Route(family.home, import_string(settings.MOCKLLM_TRANSPORT)(), headers)


def _route(provider: Provider, base_url: str, *, key_env: str) -> Route:
    dialing = Dialing(base_url)
    variable = key_env.strip()
    if variable:
        check_key_host(variable, base_url)
    key = _key(variable, needed=provider.needs_key)
    family = provider.family
    headers = {family.key_header: family.key_form.format(key)} if key else {}
    return Route(base_url, dialing, headers, key)


def _key(name: str, *, needed: bool) -> str:
    """The key in an environment variable, or in `.env`."""
    if not name:
        if needed:
            raise ChatError(UNAUTHORIZED, f"{INVALID_KEY}: the profile names no variable for it")
        return ""
    key = (os.environ.get(name) or env.variables().get(name, "")).strip()
    if not _KEY.fullmatch(key):
        wrong = "is not set" if not key else "holds something that is no key"
        raise ChatError(UNAUTHORIZED, f"{INVALID_KEY}: the variable {name} {wrong}")
    return key


def _need_sdk(family: Family) -> None:
    try:
        there = find_spec(family.module) is not None
    except ModuleNotFoundError:
        there = False
    if not there:
        wanted = env.EXTRA.format("chat")
        raise ChatError(SERVICE_UNAVAILABLE, f"Talking to this provider {wanted}")
