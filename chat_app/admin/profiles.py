"""Profiles in the admin."""

import os
from typing import Any

from django.contrib import admin, messages
from django.http import HttpRequest
from unfold.admin import ModelAdmin

from chat_app.admin.profile_form import ProfileForm, known_servers
from chat_app.clients.key_hosts import is_listed
from chat_app.models import ModelProfile
from chat_app.models.key_names import NotAKeyName, check_key_name


@admin.register(ModelProfile)
class ProfileAdmin(ModelAdmin):
    form = ProfileForm
    list_display = ("name", "provider_id", "model_id", "base_url", "key", "updated_at")
    list_filter = ("provider_id",)
    search_fields = ("name", "provider_id", "model_id")
    readonly_fields = ("created_at", "updated_at")
    fieldsets = (
        (None, {"fields": ("name", "provider_id", "model_id", "base_url", "api_key_env")}),
        ("What is asked", {"fields": ("system_prompt", ("temperature", "max_tokens"))}),
        ("Thinking", {"fields": (("enable_thinking", "thinking_budget"),)}),
        ("Context", {"fields": ("context_strategy", "context_limit")}),
        ("Tools", {"fields": ("mcp_servers",)}),
        ("When", {"fields": (("created_at", "updated_at"),)}),
    )

    def save_model(self, request: HttpRequest, obj: ModelProfile, form: Any, change: bool) -> None:
        super().save_model(request, obj, form, change)
        if form.key_was_blanked:
            messages.warning(
                request,
                "The profile has another address now, so its API key's variable was blanked: "
                "name the one that this address may have.",
            )
        unknown = [name for name in obj.mcp_servers if name not in known_servers()]
        if unknown:
            messages.warning(
                request,
                f"No MCP server is named {' or '.join(unknown)} here (MCP_SERVERS): "
                "the profile has no tools of theirs.",
            )

    @admin.display(description="API key")
    def key(self, profile: ModelProfile) -> str:
        """The variable's name, and whether it is set; never what is in it."""
        if not profile.api_key_env:
            return "–"
        try:
            check_key_name(profile.api_key_env)
        except NotAKeyName:
            return "not a variable's name"
        if not is_listed(profile.api_key_env):
            return f"{profile.api_key_env} (not in CHAT_KEYS)"
        is_set = bool(os.environ.get(profile.api_key_env))
        return f"{profile.api_key_env} ({'set' if is_set else 'not set'})"
