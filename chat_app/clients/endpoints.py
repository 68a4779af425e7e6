"""Where profiles may send requests, and which key goes where.

A base URL's host has to be in CHAT_ALLOWED_HOSTS, and what its name resolves to has to be public. A
key's variable has to be listed with the host: who edits profiles chooses both, and could otherwise
read any variable of the server's by sending it to an address of their own."""

import httpx2
from django.conf import settings

from chat_app.clients.providers import provider_of
from chat_app.errors import VALIDATION_ERROR, ChatError
from chat_app.models.profiles import MOCK_URL
from mockllm_site.kit.addresses import (
    Endpoint,
    Refused,
    check_literal,
    endpoint_at,
    is_plain_tls,
    read_base_url,
)

# The named providers, over TLS, and an Ollama of this machine.
DEFAULT_HOSTS = (
    "api.openai.com",
    "api.anthropic.com",
    "generativelanguage.googleapis.com",
    "openrouter.ai",
    "127.0.0.1:11434",
    "localhost:11434",
)


def check_base_url(provider_id: str, base_url: str) -> None:
    """Raises VALIDATION_ERROR for a base URL that a profile of this provider may not have. Cheap:
    where a name leads to is looked at when it is called."""
    if not base_url:
        if not provider_of(provider_id).base_url:
            raise refused(f"needed for {provider_id}, which is no provider known by name")
    elif base_url != MOCK_URL:
        endpoint_of(base_url)


def endpoint_of(base_url: str) -> Endpoint:
    """Whom a base URL speaks to, if it is allowed. Looks nothing up."""
    try:
        endpoint = endpoint_at(read_base_url(base_url))
        if not any(covers(entry, endpoint) for entry in allowed_hosts()):
            raise Refused(f"{endpoint} is not in CHAT_ALLOWED_HOSTS")
        check_literal(endpoint.host)
    except Refused as error:
        raise refused(str(error)) from None
    return endpoint


def allowed_hosts() -> tuple[str, ...]:
    return tuple(settings.CHAT_ALLOWED_HOSTS) or DEFAULT_HOSTS


def covers(entry: str, endpoint: Endpoint) -> bool:
    """Whether an entry of the list allows an endpoint. One without a port means TLS on its usual
    one: what is not encrypted needs a port that says so."""
    try:
        url = httpx2.URL(f"https://{entry}")
    except httpx2.InvalidURL:
        return False
    if url.raw_host.decode("ascii") != endpoint.host:
        return False
    if url.port is None:
        return is_plain_tls(endpoint)
    return url.port == endpoint.port


def refused(why: str) -> ChatError:
    return ChatError(VALIDATION_ERROR, f"Base URL: {why}", field="base_url")


# Each named provider's own pair; CHAT_KEYS adds more.
OWN = (
    ("OPENAI_API_KEY", "api.openai.com"),
    ("ANTHROPIC_API_KEY", "api.anthropic.com"),
    ("GEMINI_API_KEY", "generativelanguage.googleapis.com"),
    ("GOOGLE_API_KEY", "generativelanguage.googleapis.com"),
    ("OPENROUTER_API_KEY", "openrouter.ai"),
)


def check_key_host(name: str, base_url: str) -> None:
    """Raises VALIDATION_ERROR where the variable of this name may not be sent to this address."""
    endpoint = endpoint_of(base_url)
    if not any(variable == name and covers(host, endpoint) for variable, host in pairs()):
        raise ChatError(
            VALIDATION_ERROR,
            f"{name} may not be sent to {endpoint}: "
            f"the operator's CHAT_KEYS has no {name}@{endpoint}",
            field="api_key_env",
        )


def pairs() -> tuple[tuple[str, str], ...]:
    return (*OWN, *settings.CHAT_KEYS)


def is_listed(name: str) -> bool:
    """Whether a variable may go anywhere at all, so that one may ask whether it is set."""
    return any(variable == name for variable, _ in pairs())
