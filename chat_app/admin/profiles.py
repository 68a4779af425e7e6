"""Profiles in the admin: the form refuses, at its field, all that a run would refuse."""

from typing import Any, ClassVar, Final
from urllib.parse import urlsplit

from django import forms
from django.contrib import admin, messages
from django.db.models import TextField
from django.http import HttpRequest
from unfold.widgets import UnfoldAdminTextInputWidget

from chat_app.clients.providers import PROVIDERS, TEST_LLM, provider_of
from chat_app.clients.registry import variable_text
from chat_app.clients.transports import check_base_url, check_key_host, is_listed_key_name
from chat_app.errors import ChatError
from chat_app.models import MOCK_URL, ModelProfile, NotAKeyName, check_key_name
from chat_app.tools.servers import NAME, ServersError, named_servers
from mockllm_site.kit.admin import records as kit
from mockllm_site.kit.admin.kept_forms import KeptFormAdmin
from mockllm_site.kit.fields import NamesFormField

_MISSING: Final = {
    "provider_id": {"required": "Provider is required"},
    "model_id": {"required": "Model is required"},
}
_HELP: Final = {
    "provider_id": f"One of {', '.join(PROVIDERS)}; any other name is a custom one that speaks "
    "OpenAI's API at the base URL.",
    "base_url": f"Empty: the provider's own. {MOCK_URL} is this server's mock. "
    "Other hosts have to be in CHAT_ALLOWED_HOSTS.",
    "api_key_env": "The name of the environment variable that holds the key, such as "
    "OPENAI_API_KEY. A key is sent only to its provider's host; CHAT_KEYS lists more. "
    "If the address changes, the field is blanked unless you fill it in again.",
    "max_tokens": "Empty: the provider's own limit.",
    "thinking_budget": "In tokens; empty is 10,000.",
}


class ServerNamesField(NamesFormField):
    """A field of names of MCP servers, without repeats, edited with commas between them."""

    widget = UnfoldAdminTextInputWidget

    def to_python(self, value: Any) -> Any:
        return list(dict.fromkeys(super().to_python(value)))

    def validate(self, value: Any) -> None:
        """Raise a ValidationError for malformed names; unknown servers pass."""
        super().validate(value)
        if not all(map(NAME.fullmatch, value)):
            raise forms.ValidationError("expected names of MCP servers, with commas between them")


class ProfileForm(forms.ModelForm):
    mcp_servers = ServerNamesField(label="MCP servers", required=False)

    class Meta:
        model = ModelProfile
        fields = "__all__"  # noqa: DJ007  (the admin names them)
        error_messages = _MISSING
        help_texts = _HELP

    # A stored key is blanked if the address changes, so that it is not sent elsewhere.
    key_was_blanked = False

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if (servers := self.fields.get("mcp_servers")) is not None:
            names = ", ".join(known_servers()) or "none"
            servers.help_text = f"Names with commas between them. Known: {names}."

    def clean_api_key_env(self) -> str:
        """Return the variable's name; raises a ValidationError for a name that no key can have."""
        name: str = self.cleaned_data["api_key_env"]
        try:
            check_key_name(name)
        except NotAKeyName as error:
            raise forms.ValidationError(str(error)) from None
        return name

    def clean(self) -> dict[str, Any]:
        """Check the base URL and the key's host; blank the key's variable if the host changed and
        the variable did not."""
        cleaned = super().clean() or self.cleaned_data
        if "base_url" in cleaned and cleaned.get("provider_id"):
            try:
                check_base_url(cleaned["provider_id"], cleaned["base_url"])
            except ChatError as error:
                self.add_error("base_url", error.message)
        if self._has_other_host(cleaned) and "api_key_env" not in self.changed_data:
            self.key_was_blanked = bool(cleaned.get("api_key_env"))
            cleaned["api_key_env"] = ""
        if not self.errors:
            self._check_key_host(cleaned)
        return cleaned

    def _check_key_host(self, cleaned: dict[str, Any]) -> None:
        """Add an error to the form if the key must not be sent to the profile's host."""
        provider_id, base_url = cleaned["provider_id"], cleaned["base_url"]
        name = cleaned["api_key_env"]
        if not name or provider_id == TEST_LLM or base_url == MOCK_URL:
            return
        try:
            check_key_host(name, base_url or provider_of(provider_id).base_url)
        except ChatError as error:
            self.add_error("api_key_env", error.message)

    def _has_other_host(self, cleaned: dict[str, Any]) -> bool:
        """True if a stored profile gets another scheme, host or port; False for a new profile."""
        if self.instance.pk is None:
            return False
        before = self.initial.get("provider_id", ""), self.initial.get("base_url", "")
        after = cleaned.get("provider_id", ""), cleaned.get("base_url", "")
        return _scheme_and_host(*before) != _scheme_and_host(*after)


def known_servers() -> list[str]:
    """Return the names of the configured MCP servers; none if their file is unusable."""
    try:
        return list(named_servers())
    except ServersError:
        return []


def _scheme_and_host(provider_id: str, base_url: str) -> tuple[str, str]:
    """Return scheme and host with port of the URL or provider; an invalid URL and ""."""
    url = base_url or provider_of(provider_id).base_url
    try:
        parts = urlsplit(url)
    except ValueError:
        return url, ""
    return parts.scheme.lower(), parts.netloc.lower()


@admin.register(ModelProfile)
class ProfileAdmin(KeptFormAdmin):
    form = ProfileForm
    formfield_overrides: ClassVar = {TextField: kit.TEXT_OVERRIDE}
    list_display = ("name", "provider_id", "model_id", "base_url", "key", "updated_at")
    list_filter = ("provider_id",)
    search_fields = ("name", "provider_id", "model_id")
    readonly_fields = ("created_at", "updated_at")
    fieldsets = (
        (None, {"fields": ("name", "provider_id", "model_id", "base_url", "api_key_env")}),
        ("Request", {"fields": ("system_prompt", ("temperature", "max_tokens"))}),
        ("Thinking", {"fields": (("enable_thinking", "thinking_budget"),)}),
        ("Context", {"fields": ("context_strategy", "context_limit")}),
        ("Tools", {"fields": ("mcp_servers",)}),
        ("Dates", {"fields": (("created_at", "updated_at"),)}),
    )

    def save_model(self, request: HttpRequest, obj: ModelProfile, form: Any, change: bool) -> None:
        """Save, and warn of a blanked variable and of unknown MCP servers."""
        super().save_model(request, obj, form, change)
        if form.key_was_blanked:
            messages.warning(
                request,
                "The address of the profile has changed, so its API key's variable was blanked. "
                "Enter the variable for the new address.",
            )
        if unknown := [name for name in obj.mcp_servers if name not in known_servers()]:
            messages.warning(
                request,
                f"There is no MCP server {' or '.join(unknown)} (MCP_SERVERS), "
                "so the profile gets no tools from there.",
            )

    @admin.display(description="API key")
    def key(self, profile: ModelProfile) -> str:
        """Return the key's variable and if it is set or not allowed, or a dash; never the key."""
        if not profile.api_key_env:
            return "–"
        try:
            check_key_name(profile.api_key_env)
        except NotAKeyName:
            return "not a variable's name"
        if not is_listed_key_name(profile.api_key_env):
            return f"{profile.api_key_env} (not in CHAT_KEYS)"
        state = "set" if variable_text(profile.api_key_env) else "not set"
        return f"{profile.api_key_env} ({state})"
