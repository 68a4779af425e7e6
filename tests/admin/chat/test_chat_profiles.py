"""Profiles in the admin: invalid values are rejected at their field; keys are not exposed."""

import os
from typing import Any

import pytest
from django.http import HttpResponse
from django.test import Client

from chat_app.models import ModelProfile
from mockllm_site.kit import env
from tests.admin.pages import fields_at

pytestmark = pytest.mark.django_db

LIST = "/admin/chat_app/modelprofile/"
ADD = f"{LIST}add/"
FORM = "modelprofile_form"
KEY = "OPENAI_API_KEY"


@pytest.fixture
def profile(db: None) -> ModelProfile:
    return ModelProfile.objects.create(
        name="mine", provider_id="openai", model_id="gpt-4o", api_key_env=KEY
    )


def page_of(profile: ModelProfile) -> str:
    return f"{LIST}{profile.pk}/change/"


def save(client: Client, url: str, **changes: str) -> Any:
    return client.post(url, fields_at(client, url, FORM) | changes, follow=True)


def errors(response: Any) -> dict[str, list[str]]:
    return {
        name: list(error_list)
        for name, error_list in response.context["adminform"].form.errors.items()
    }


def error_lines(response: HttpResponse) -> list[str]:
    return [str(message) for message in response.context["messages"]]


def test_a_profile_is_added(editor: Client) -> None:
    save(
        editor,
        ADD,
        name="new",
        provider_id="anthropic",
        model_id="claude",
        base_url="mock:",
        mcp_servers="demo",
        temperature="0.5",
    )
    profile_row = ModelProfile.objects.get()
    assert (profile_row.name, profile_row.provider_id, profile_row.model_id) == (
        "new",
        "anthropic",
        "claude",
    )
    assert (profile_row.base_url, profile_row.mcp_servers, profile_row.temperature) == (
        "mock:",
        ["demo"],
        0.5,
    )


def test_missing_fields_get_the_messages_of_the_service(editor: Client) -> None:
    error_messages = errors(save(editor, ADD, name="new", provider_id=" ", model_id=""))
    assert error_messages["provider_id"] == ["Provider is required"]
    assert error_messages["model_id"] == ["Model is required"]
    assert not ModelProfile.objects.exists()


@pytest.mark.parametrize(
    "url",
    [
        "http://169.254.169.254/latest",
        "https://evil.example/v1",
        "file:///etc/passwd",
        "http://api.openai.com/v1",
        "https://user:pass@api.openai.com/v1",
        "https://api.openai.com:8443/v1",
        "http://127.0.0.1:1/v1",
        "http://[::ffff:169.254.169.254]/",
        "javascript:alert(1)",
        "mock:x",
        " ",
    ],
)
def test_forbidden_address_is_rejected(editor: Client, profile: ModelProfile, url: str) -> None:
    response = save(editor, page_of(profile), base_url=url)
    if url.strip():
        assert list(errors(response)) == ["base_url"]
    profile.refresh_from_db()
    assert (profile.base_url, profile.api_key_env) == ("", KEY)


def test_a_custom_provider_needs_an_address(editor: Client) -> None:
    profile_fields = {"name": "new", "provider_id": "mine", "model_id": "m"}
    assert list(errors(save(editor, ADD, **profile_fields))) == ["base_url"]
    save(editor, ADD, **profile_fields, base_url="http://localhost:11434/v1")
    assert ModelProfile.objects.get().base_url == "http://localhost:11434/v1"


@pytest.mark.parametrize("key_variable", ["sk-proj-0123456789abcdef", "AIzaSyD-123", "SECRET_KEY"])
def test_key_value_or_own_secret_is_rejected_as_key_variable(
    editor: Client, profile: ModelProfile, key_variable: str
) -> None:
    response = save(editor, page_of(profile), api_key_env=key_variable)
    (message,) = errors(response)["api_key_env"]
    assert key_variable == "SECRET_KEY" or key_variable not in message
    profile.refresh_from_db()
    assert profile.api_key_env == KEY


@pytest.mark.parametrize(
    ("changes", "expected_variable"),
    [
        ({"base_url": "http://localhost:11434/v1"}, ""),
        ({"base_url": "mock:"}, ""),
        ({"base_url": "https://openrouter.ai/api/v1"}, ""),
        ({"provider_id": "openrouter"}, ""),
        ({"provider_id": "anthropic"}, ""),
        ({"base_url": "https://api.openai.com/v2"}, KEY),
        ({"base_url": "HTTPS://API.OPENAI.COM/v1"}, KEY),
        ({"model_id": "gpt-5"}, KEY),
        ({"base_url": "mock:", "api_key_env": "OTHER_KEY"}, "OTHER_KEY"),
    ],
)
def test_key_variable_is_blanked_for_another_address(
    editor: Client, profile: ModelProfile, changes: dict[str, str], expected_variable: str
) -> None:
    response = save(editor, page_of(profile), **changes)
    profile.refresh_from_db()
    assert profile.api_key_env == expected_variable
    assert any("was blanked" in message for message in error_lines(response)) == (
        expected_variable == ""
    )


@pytest.mark.parametrize(
    ("changes", "name"),
    [
        ({}, "AWS_SECRET_ACCESS_KEY"),
        ({"base_url": "https://openrouter.ai/api/v1"}, "MY_KEY"),
        ({"base_url": "http://localhost:11434/v1"}, "GITHUB_TOKEN"),
        ({"provider_id": "anthropic"}, "MY_KEY"),
    ],
)
def test_key_variable_is_saved_only_for_its_own_provider(
    editor: Client, profile: ModelProfile, settings: Any, changes: dict[str, str], name: str
) -> None:
    response = save(editor, page_of(profile), **changes, api_key_env=name)
    (message,) = errors(response)["api_key_env"]
    assert message.startswith(f"{name} may not be sent to ")
    settings.CHAT_KEYS = [(name, host) for host in ("api.openai.com", "openrouter.ai")]
    settings.CHAT_KEYS += [(name, host) for host in ("localhost:11434", "api.anthropic.com")]
    save(editor, page_of(profile), **changes, api_key_env=name)
    profile.refresh_from_db()
    assert profile.api_key_env == name


def test_profile_without_a_key_changes_address_without_warning(
    editor: Client, profile: ModelProfile
) -> None:
    ModelProfile.objects.update(api_key_env="")
    response = save(editor, page_of(profile), base_url="mock:")
    assert not any("was blanked" in message for message in error_lines(response))


@pytest.mark.parametrize(
    ("server_names", "names"),
    [
        ("", []),
        ("demo", ["demo"]),
        (" demo , demo,, files ", ["demo", "files"]),
    ],
)
def test_mcp_servers_are_stored_as_a_list_of_names(
    editor: Client, profile: ModelProfile, server_names: str, names: list[str]
) -> None:
    save(editor, page_of(profile), mcp_servers=server_names)
    profile.refresh_from_db()
    assert profile.mcp_servers == names
    assert fields_at(editor, page_of(profile), FORM)["mcp_servers"] == ", ".join(names)


@pytest.mark.parametrize(
    "server_name",
    ['{"command": ["sh"]}', "http://127.0.0.1:1/mcp", "sh -c id", "a b", "x" * 65, "../x"],
)
def test_command_or_address_is_rejected_as_a_server_name(
    editor: Client, profile: ModelProfile, server_name: str
) -> None:
    assert list(errors(save(editor, page_of(profile), mcp_servers=server_name))) == ["mcp_servers"]
    profile.refresh_from_db()
    assert profile.mcp_servers == []


def test_unknown_server_is_saved_with_a_warning(editor: Client, profile: ModelProfile) -> None:
    response = save(editor, page_of(profile), mcp_servers="demo, files")
    assert [
        message for message in error_lines(response) if "files" in message and "demo" not in message
    ]
    profile.refresh_from_db()
    assert profile.mcp_servers == ["demo", "files"]


def test_form_lists_the_configured_servers(editor: Client) -> None:
    assert "Known: demo." in editor.get(ADD).content.decode()


@pytest.mark.parametrize("temperature", ["-1", "2.1", "x", "nan"])
def test_number_out_of_bounds_is_rejected(
    editor: Client, profile: ModelProfile, temperature: str
) -> None:
    response = save(editor, page_of(profile), temperature=temperature)
    assert list(errors(response)) == ["temperature"]


def test_list_shows_if_a_key_is_set_and_never_its_value(
    editor: Client, profile: ModelProfile, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(KEY, raising=False)
    assert f"{KEY} (not set)" in editor.get(LIST).content.decode()
    monkeypatch.setitem(os.environ, KEY, "sk-the-canary")
    html = editor.get(LIST).content.decode() + editor.get(page_of(profile)).content.decode()
    assert f"{KEY} (set)" in html
    assert "canary" not in html


def test_list_shows_a_key_of_the_dotenv_file_as_set(
    editor: Client, profile: ModelProfile, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(KEY, raising=False)
    monkeypatch.setitem(env.variables().maps[-1], KEY, "sk-the-canary")
    html = editor.get(LIST).content.decode()
    assert f"{KEY} (set)" in html and "canary" not in html


def test_read_only_sees_profiles_and_changes_none(reader: Client, profile: ModelProfile) -> None:
    assert reader.get(page_of(profile)).status_code == 200
    assert reader.get(ADD).status_code == 403
    assert reader.post(page_of(profile), {"name": "x"}).status_code == 403
    assert reader.post(f"{LIST}{profile.pk}/delete/", {"post": "yes"}).status_code == 403
    assert ModelProfile.objects.get().name == "mine"
