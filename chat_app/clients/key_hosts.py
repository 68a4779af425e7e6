"""Which key goes where: the variables that profiles may name, each with the host it may be sent to.

Whoever edits profiles chooses a variable and an address; without this list a variable of the
server's that is no provider's key could be read by sending it to an address of one's own.
"""

from typing import Final

from django.conf import settings

from chat_app.clients.allowed import covers, place_of
from chat_app.errors import VALIDATION_ERROR, ChatError

FIELD: Final = "api_key_env"
# Each named provider's own pair; CHAT_KEYS adds more.
OWN: Final = (
    ("OPENAI_API_KEY", "api.openai.com"),
    ("ANTHROPIC_API_KEY", "api.anthropic.com"),
    ("GEMINI_API_KEY", "generativelanguage.googleapis.com"),
    ("GOOGLE_API_KEY", "generativelanguage.googleapis.com"),
    ("OPENROUTER_API_KEY", "openrouter.ai"),
)


def check_key_host(name: str, base_url: str) -> None:
    """Raises VALIDATION_ERROR where the variable of this name may not be sent to this address."""
    place = place_of(base_url)
    if not any(variable == name and covers(host, place) for variable, host in pairs()):
        raise ChatError(
            VALIDATION_ERROR,
            f"{name} may not be sent to {place}: the operator's CHAT_KEYS has no {name}@{place}",
            field=FIELD,
        )


def pairs() -> tuple[tuple[str, str], ...]:
    return (*OWN, *settings.CHAT_KEYS)


def is_listed(name: str) -> bool:
    """Whether a variable may go anywhere at all, so that one may ask whether it is set."""
    return any(variable == name for variable, _ in pairs())
