"""Wrong passwords lock a login for some time, and each attempt is logged."""

import logging
from datetime import timedelta
from ipaddress import ip_network
from typing import Any

import pytest
from axes.models import AccessAttempt
from django.contrib.auth.models import User
from django.core.management import call_command
from django.http import HttpRequest
from django.test import Client
from django.utils import timezone
from pytest_django import Settings

from mockllm_site.kit.setting_kinds import SettingError
from mockllm_site.kit.settings_table import SETTINGS

pytestmark = pytest.mark.django_db

LOGIN = "/admin/login/"


@pytest.fixture
def qa() -> User:
    return User.objects.create_user("qa", password="right-password", is_staff=True)


def log_in(name: str, password: str, *, address: str = "192.0.2.1", forwarded_for: str = "") -> Any:
    credentials = {"username": name, "password": password}
    headers = {"X-Forwarded-For": forwarded_for} if forwarded_for else {}
    return Client(REMOTE_ADDR=address).post(LOGIN, credentials, headers=headers)


def test_after_ten_wrong_passwords_the_right_one_waits_too(qa: User) -> None:
    for _ in range(9):
        assert log_in("qa", "wrong").status_code == 200
    assert log_in("qa", "wrong").status_code == 429
    locked = log_in("qa", "right-password")
    assert locked.status_code == 429
    assert locked.headers["Retry-After"] == "900"
    assert "Wait 15 minutes" in locked.content.decode()


def test_right_password_resets_the_count_of_wrong_ones(qa: User) -> None:
    for _ in range(2):
        for _ in range(9):
            assert log_in("qa", "wrong").status_code == 200
        assert log_in("qa", "right-password").status_code == 302


def test_others_and_other_addresses_are_not_locked_out(qa: User) -> None:
    User.objects.create_user("else", password="right-password", is_staff=True)
    for _ in range(10):
        log_in("qa", "wrong")
    assert log_in("else", "right-password").status_code == 302
    assert log_in("qa", "right-password", address="192.0.2.2").status_code == 302


def test_unknown_user_gets_the_same_answers(qa: User) -> None:
    answers = [(log_in("qa", "wrong"), log_in("nobody", "wrong")) for _ in range(11)]
    for there, not_there in answers:
        assert there.status_code == not_there.status_code


def test_lock_ends_after_fifteen_minutes(qa: User) -> None:
    for _ in range(10):
        log_in("qa", "wrong")
    AccessAttempt.objects.update(attempt_time=timezone.now() - timedelta(minutes=15, seconds=1))
    assert log_in("qa", "right-password").status_code == 302


def test_each_wrong_password_is_logged_and_none_is_shown(
    qa: User, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING, logger="axes"):
        log_in("qa", "wrong-password-1")
        log_in("qa", "wrong-password-2")
    messages = [record.getMessage() for record in caplog.records if record.name.startswith("axes")]
    assert len(messages) == 2
    assert all("qa" in message and "192.0.2.1" in message for message in messages)
    assert "wrong-password" not in " ".join(messages)


def test_wrong_passwords_behind_a_trusted_proxy_lock_one_client(
    qa: User, settings: Settings
) -> None:
    settings.MOCKLLM_TRUSTED_PROXIES = [ip_network("10.0.0.0/8")]
    for _ in range(11):
        attacker = log_in("qa", "wrong", address="10.0.0.1", forwarded_for="192.0.2.66, 10.0.0.9")
    assert attacker.status_code == 429
    owner = log_in("qa", "right-password", address="10.0.0.1", forwarded_for="192.0.2.7")
    assert owner.status_code == 302


def test_proxy_is_trusted_at_a_socket_for_both_ip_versions(qa: User, settings: Settings) -> None:
    settings.MOCKLLM_TRUSTED_PROXIES = [ip_network("10.0.0.0/8")]
    forwarded = "192.0.2.66, ::ffff:10.0.0.9"
    for _ in range(11):
        attacker = log_in("qa", "wrong", address="::ffff:10.0.0.1", forwarded_for=forwarded)
    assert attacker.status_code == 429
    owner = log_in("qa", "right-password", address="::ffff:10.0.0.1", forwarded_for="192.0.2.7")
    assert owner.status_code == 302


def test_forwarded_address_that_a_client_made_up_does_not_unlock_it(
    qa: User, settings: Settings
) -> None:
    settings.MOCKLLM_TRUSTED_PROXIES = [ip_network("10.0.0.1/32")]
    for number in range(11):
        forged_header = f"198.51.100.{number}, 192.0.2.66"
        answer = log_in("qa", "wrong", address="10.0.0.1", forwarded_for=forged_header)
    assert answer.status_code == 429


def test_forwarded_address_of_an_unlisted_proxy_is_not_believed(qa: User) -> None:
    for number in range(11):
        answer = log_in("qa", "wrong", forwarded_for=f"198.51.100.{number}")
    assert answer.status_code == 429


def test_name_behind_an_unlisted_proxy_is_locked_for_a_minute_only(qa: User) -> None:
    for _ in range(11):
        answer = log_in("qa", "wrong", forwarded_for="198.51.100.1")
    assert answer.headers["Retry-After"] == "60" and "Wait 1 minute," in answer.content.decode()
    AccessAttempt.objects.update(attempt_time=timezone.now() - timedelta(seconds=61))
    assert log_in("qa", "right-password", forwarded_for="198.51.100.2").status_code == 302


def test_trusted_proxies_that_are_no_addresses_are_a_settings_error() -> None:
    with pytest.raises(SettingError, match=r"MOCKLLM_TRUSTED_PROXIES: .*proxy'"):
        SETTINGS["MOCKLLM_TRUSTED_PROXIES"].kind.read("MOCKLLM_TRUSTED_PROXIES", "10.0.0.1, proxy")


def jump_clock(monkeypatch: pytest.MonkeyPatch, jump: timedelta) -> None:
    """Move the wall clock that Django and axes read."""
    now = timezone.now

    def moved() -> Any:
        return now() + jump

    for target in ("django.utils.timezone.now", "axes.attempts.now", "axes.handlers.proxy.now"):
        monkeypatch.setattr(target, moved)


def test_lock_is_lifted_when_the_clock_jumps_beyond_it(
    qa: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    for _ in range(10):
        log_in("qa", "wrong")
    jump_clock(monkeypatch, timedelta(minutes=16))
    assert log_in("qa", "right-password").status_code == 302


def test_lock_outlasts_a_clock_set_back_until_axes_reset(
    qa: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    for _ in range(10):
        log_in("qa", "wrong")
    jump_clock(monkeypatch, timedelta(days=-1))
    assert log_in("qa", "right-password").status_code == 429
    call_command("axes_reset_username", "qa", verbosity=0)
    assert log_in("qa", "right-password").status_code == 302


def test_wrong_passwords_still_lock_after_the_clock_is_set_back(
    qa: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    for _ in range(5):
        log_in("qa", "wrong")
    jump_clock(monkeypatch, timedelta(days=-1))
    statuses = [log_in("qa", "wrong").status_code for _ in range(10)]
    assert 429 in statuses
    assert statuses[-1] == 429


@pytest.mark.parametrize(
    ("days", "stays"),
    [(-30, True), (13, True), (15, False)],
)
def test_login_ends_two_weeks_later_by_the_clock(
    qa: User, monkeypatch: pytest.MonkeyPatch, days: int, stays: bool
) -> None:
    client = Client()
    assert client.login(request=HttpRequest(), username="qa", password="right-password")
    jump_clock(monkeypatch, timedelta(days=days))
    response = client.get("/admin/")
    assert (response.status_code == 200) is stays
