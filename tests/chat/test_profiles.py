"""Profiles: the default one, validation, and dumping and loading them as fixtures."""

import io
import json
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command

from chat_app.errors import ChatError
from chat_app.models import ModelProfile, NotAKeyName, check_key_name
from chat_app.profiles import (
    check_profile,
    default_profile,
    find_profile,
)
from mockllm_site.management.commands import serve

VALID_COLUMNS = {"name": "p", "provider_id": "openai", "model_id": "gpt-4o", "base_url": "mock:"}
KEY_LIKE_NAMES = [
    "sk-proj-abc123",
    "sk-ant-api03-xyz",
    "AIzaSyD-1234567890",
    "AIzaSyDabcdefghijklmnop",
    "gsk_0123456789abcdef",
    "hf_abcdef",
    "AKIAIOSFODNN7EXAMPLE",
    "0123456789abcdef0123456789abcdef",
    "Bearer abc",
    "openai_api_key",
    "OPENAI API KEY",
    "OPENAI_API_KEY=sk-x",
    "$OPENAI_API_KEY",
    "A" * 101,
    "_LLM",
    "1LLM",
]
SERVER_SECRETS = ["SECRET_KEY", "DATABASE_URL", "REDIS_URL", "CHAT_TOKEN", "MOCKLLM_CONTROL_TOKEN"]


def is_usable(profile: ModelProfile) -> bool:
    try:
        check_profile(profile)
    except ChatError:
        return False
    return True


@pytest.mark.django_db
def test_missing_default_profile_is_created() -> None:
    assert not ModelProfile.objects.exists()
    profile = default_profile()
    assert (profile.name, profile.provider_id, profile.model_id) == ("demo", "openai", "gpt-4o")
    assert (profile.base_url, profile.mcp_servers) == ("mock:", ["demo"])
    assert default_profile() == profile == find_profile(None) == find_profile("demo")
    assert ModelProfile.objects.count() == 1


@pytest.mark.django_db
@pytest.mark.parametrize("mode", ["dev", "test", "prod"])
def test_server_start_creates_the_default_profile_in_every_mode(settings: Any, mode: str) -> None:
    settings.MOCKLLM_ENV = mode
    serve._check_and_load([], catch_all=False)
    names = set(ModelProfile.objects.values_list("name", flat=True))
    # The other profiles of dev are for comparisons.
    assert names == ({"demo", "demo-anthropic", "demo-thinking"} if mode == "dev" else {"demo"})


@pytest.mark.django_db
def test_server_start_leaves_existing_profiles_unchanged(settings: Any) -> None:
    settings.MOCKLLM_ENV = "dev"
    ModelProfile.objects.create(name="mine", provider_id="openai", model_id="gpt-4o")
    serve._check_and_load([], catch_all=False)
    assert set(ModelProfile.objects.values_list("name", flat=True)) == {"demo", "mine"}


@pytest.mark.django_db
def test_a_default_profile_that_was_changed_stays_so() -> None:
    default_profile()
    ModelProfile.objects.update(model_id="other")
    assert default_profile().model_id == "other"


@pytest.mark.django_db
@pytest.mark.parametrize("name", ["", "nobody", "Demo", "\0", "\udcff", "x" * 500])
def test_a_name_of_no_profile_is_not_found(name: str) -> None:
    with pytest.raises(ChatError) as raised:
        find_profile(name)
    assert (raised.value.code, raised.value.message) == ("NOT_FOUND", "Profile not found")


@pytest.mark.parametrize(
    ("columns", "message", "field"),
    [
        ({"provider_id": ""}, "Provider is required", "profile.provider_id"),
        ({"provider_id": " "}, "Provider is required", "profile.provider_id"),
        ({"model_id": ""}, "Model is required", "profile.model_id"),
        ({"model_id": "\t"}, "Model is required", "profile.model_id"),
        ({"mcp_servers": "demo"}, "MCP servers: expected a list of names", "profile.mcp_servers"),
        ({"mcp_servers": {"demo": {}}}, "MCP servers: expected a list of names", None),
        ({"mcp_servers": [{"command": ["sh"]}]}, "MCP servers: expected a list of names", None),
        ({"mcp_servers": None}, "MCP servers: expected a list of names", None),
    ],
)
def test_unusable_profile_error_has_message_and_field(
    columns: dict[str, Any], message: str, field: str | None
) -> None:
    with pytest.raises(ChatError) as raised:
        check_profile(ModelProfile(**(VALID_COLUMNS | columns)))
    assert (raised.value.code, raised.value.message) == ("VALIDATION_ERROR", message)
    assert field in (None, raised.value.field)


@pytest.mark.parametrize("name", KEY_LIKE_NAMES)
def test_key_in_place_of_a_variable_name_is_refused(name: str) -> None:
    with pytest.raises(ChatError) as raised:
        check_profile(ModelProfile(**VALID_COLUMNS, api_key_env=name))
    assert raised.value.field == "profile.api_key_env"
    assert name not in raised.value.message


@pytest.mark.parametrize("name", SERVER_SECRETS)
def test_names_of_server_secrets_are_rejected(name: str) -> None:
    with pytest.raises(NotAKeyName):
        check_key_name(name)


@pytest.mark.parametrize("name", ["", "OPENAI_API_KEY", "K", "KEY_2", "MY_COMPANYS_LLM_GATEWAY"])
def test_valid_variable_name_is_accepted(name: str) -> None:
    assert is_usable(ModelProfile(**VALID_COLUMNS, api_key_env=name))


@pytest.mark.django_db
@pytest.mark.parametrize("name", [*KEY_LIKE_NAMES[:3], "SECRET_KEY"])
def test_keys_are_stored_neither_by_create_nor_by_loaddata(name: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError):
        ModelProfile.objects.create(**VALID_COLUMNS, api_key_env=name)
    row = {"model": "chat_app.modelprofile", "fields": {**VALID_COLUMNS, "api_key_env": name}}
    file = tmp_path / "keys.json"
    file.write_text(json.dumps([row]))
    with pytest.raises(ValueError) as raised:
        call_command("loaddata", file, verbosity=0)
    assert name == "SECRET_KEY" or name not in str(raised.value)
    assert not ModelProfile.objects.exists()


@pytest.mark.django_db
def test_dumped_profiles_load_by_their_names(tmp_path: Path) -> None:
    ModelProfile.objects.create(
        **VALID_COLUMNS,
        api_key_env="OPENAI_API_KEY",
        system_prompt="Be brief: ünïcödé, {braces}",
        temperature=0.5,
        max_tokens=7,
        enable_thinking=True,
        thinking_budget=99,
        context_limit=1_000,
        context_strategy="full",
        mcp_servers=["b", "a"],
    )
    before = columns()
    text = io.StringIO()
    call_command("dumpdata", "chat_app.modelprofile", use_natural_primary_keys=True, stdout=text)
    assert "pk" not in json.loads(text.getvalue())[0]
    file = tmp_path / "mine.json"
    file.write_text(text.getvalue())
    for _ in range(2):
        call_command("loaddata", file, verbosity=0)
    assert columns() == before
    ModelProfile.objects.all().delete()
    call_command("loaddata", file, verbosity=0)
    assert columns() == {**before, "id": ModelProfile.objects.get().pk}


def columns() -> dict[str, Any]:
    """Return the only profile's columns without times, which fixtures cut to milliseconds."""
    row = ModelProfile.objects.values().get()
    return {name: value for name, value in row.items() if not name.endswith("_at")}


@pytest.mark.django_db
def test_a_fixture_changes_the_profile_of_its_name(tmp_path: Path) -> None:
    original = default_profile()
    file = tmp_path / "changed.json"
    row = {
        "model": "chat_app.modelprofile",
        "fields": {**VALID_COLUMNS, "name": "demo", "model_id": "new"},
    }
    file.write_text(json.dumps([row]))
    call_command("loaddata", file, verbosity=0)
    changed = ModelProfile.objects.get()
    assert (changed.pk, changed.model_id) == (original.pk, "new")


@pytest.mark.django_db
def test_the_shipped_profiles_can_all_be_used() -> None:
    call_command("loaddata", "profiles", verbosity=0)
    assert {profile.name for profile in ModelProfile.objects.all()} == {
        "demo", "demo-anthropic", "demo-thinking",
    }  # fmt: skip
    for profile in ModelProfile.objects.all():
        check_profile(profile)
        assert profile.base_url == "mock:" and profile.api_key_env == ""
    assert default_profile() == ModelProfile.objects.get(name="demo")
