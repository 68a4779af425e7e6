"""Finds the profile for a message and checks that it is usable."""

from chat_app.errors import NOT_FOUND, VALIDATION_ERROR, ChatError
from chat_app.models import DEFAULT_PROFILE, MOCK_URL, ModelProfile, NotAKeyName, check_key_name
from chat_app.values.text import UNSTORABLE
from mockllm_site.kit.rows import find


def default_profile() -> ModelProfile:
    """Return the default profile, created if it is missing, never changed."""
    if (default := find(ModelProfile, {"name": DEFAULT_PROFILE})) is not None:
        return default
    profile, _ = ModelProfile.objects.get_or_create(
        name=DEFAULT_PROFILE,
        defaults={
            "provider_id": "openai",
            "model_id": "gpt-4o",
            "base_url": MOCK_URL,
            "mcp_servers": ["demo"],
        },
    )
    return profile


def profile_name(name: str | None) -> str:
    """Return the name of the profile that a request chooses; None chooses the default one."""
    return DEFAULT_PROFILE if name is None else name


def find_profile(name: str | None) -> ModelProfile:
    """Return a profile by its name, the default one for None; raises NOT_FOUND."""
    if name is None or name == DEFAULT_PROFILE:
        return default_profile()
    profile = None if UNSTORABLE.search(name) else find(ModelProfile, {"name": name})
    if profile is None:
        raise ChatError(NOT_FOUND, "Profile not found", field="profile")
    return profile


def check_profile(profile: ModelProfile) -> None:
    """Raise VALIDATION_ERROR for an unusable profile; fixtures and programs bypass the form."""
    if not profile.model_id.strip():
        raise ChatError(VALIDATION_ERROR, "Model is required", field="profile.model_id")
    if not profile.provider_id.strip():
        raise ChatError(VALIDATION_ERROR, "Provider is required", field="profile.provider_id")
    try:
        check_key_name(profile.api_key_env)
    except NotAKeyName as error:
        message = f"API key's variable: {error}"
        raise ChatError(VALIDATION_ERROR, message, field="profile.api_key_env") from None
    servers = profile.mcp_servers
    if not (isinstance(servers, list) and all(isinstance(name, str) for name in servers)):
        raise ChatError(
            VALIDATION_ERROR, "MCP servers: expected a list of names", field="profile.mcp_servers"
        )
