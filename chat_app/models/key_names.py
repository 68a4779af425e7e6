"""Names of environment variables that hold API keys: keys themselves are never stored."""

import re
from typing import Final

_NAME: Final = re.compile(r"[A-Z][A-Z0-9_]{0,99}")
# So long without a gap: a key that happens to have neither small letters nor signs.
_LIKE_A_KEY: Final = re.compile(r"[A-Z0-9]{20,}")
# This server's own secrets are for nobody else, and its settings are no keys.
_OWN: Final = frozenset(
    {"SECRET_KEY", "DATABASE_URL", "REDIS_URL", "CHAT_TOKEN", "DJANGO_SETTINGS_MODULE"}
)
_OWN_PREFIX: Final = "MOCKLLM_"


class NotAKeyName(ValueError):
    """What cannot be the name of a key's variable; the message never repeats what was given."""


def check_key_name(name: str) -> None:
    """Raises NotAKeyName for whatever is not empty, and no name of a variable that may hold a key
    for a provider."""
    if not name:
        return
    if not _NAME.fullmatch(name) or _LIKE_A_KEY.search(name):
        raise NotAKeyName(
            "expected the name of an environment variable, such as OPENAI_API_KEY; "
            "the key itself is never stored"
        )
    if name in _OWN or name.startswith(_OWN_PREFIX):
        raise NotAKeyName(f"{name} is this server's own, and goes to no provider")
