"""Which profile a message is sent with, and whether it can be used at all."""

from dataclasses import dataclass

from chat_app.errors import NOT_FOUND, VALIDATION_ERROR, ChatError
from chat_app.models import DEFAULT_PROFILE, MOCK_URL, ModelProfile, NotAKeyName, check_key_name
from mockllm_site.kit.rows import find


@dataclass(frozen=True, slots=True)
class Named:
    """The profile of a name, None being the default one's, looked for when it is needed."""

    name: str | None


def ensure_default_profile() -> ModelProfile:
    """The default profile; made if it is missing, and left as it is if somebody changed it."""
    if (found := find(ModelProfile, {"name": DEFAULT_PROFILE})) is not None:
        return found
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


def default_profile() -> ModelProfile:
    return ensure_default_profile()


def profile_named(name: str | None) -> ModelProfile:
    """A profile by its name, None being the default one; raises NOT_FOUND."""
    if name is None or name == DEFAULT_PROFILE:
        return default_profile()
    found = None if "\0" in name else find(ModelProfile, {"name": name})
    if found is None:
        raise ChatError(NOT_FOUND, "Profile not found", field="profile")
    return found


def check_profile(profile: ModelProfile) -> None:
    """Raises VALIDATION_ERROR for a profile that no request can be made from: fixtures and
    programs store profiles that no form has checked."""
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
