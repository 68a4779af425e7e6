"""The chart of today's requests on the overview."""

from datetime import datetime, timedelta

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries

from scenarios_app.journal import today as chart
from scenarios_app.journal.today import HEIGHT, Hour, traffic_of_today
from scenarios_app.models import Outcome
from tests.admin.traffic import NOON, create_journal_row, create_unmatched_row

pytestmark = pytest.mark.django_db


def at(hour: int, minute: int = 0) -> datetime:
    return NOON.replace(hour=hour, minute=minute)


def test_requests_are_counted_by_hour_and_kind() -> None:
    create_journal_row(at=at(9, 59)), create_journal_row(at=at(9)), create_journal_row(at=at(10))
    create_unmatched_row(at=at(9)), create_journal_row(at=at(9), fallback=True)
    create_journal_row(at=at(10), fault="http", status=500)
    create_journal_row(at=at(23, 59), outcome=Outcome.FAULT, fault="disconnect")
    create_unmatched_row(at=at(23), fault="http")
    assert traffic_of_today(NOON).busy == [
        Hour(9, matched=2, unmatched=2),
        Hour(10, matched=1, faults=1),
        Hour(23, unmatched=1, faults=1),
    ]
    assert traffic_of_today(NOON).total == Hour(0, matched=3, unmatched=3, faults=2)


def test_other_days_are_not_counted() -> None:
    create_journal_row(at=at(0) - timedelta(seconds=1)), create_journal_row(at=at(0), fault="http")
    today = traffic_of_today(NOON)
    assert today.busy == [Hour(0, faults=1)] and today.since == at(0)


def test_only_the_newest_requests_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chart, "MAX_REQUESTS", 2)
    for hour in (8, 9, 10):
        create_journal_row(at=at(hour))
    today = traffic_of_today(NOON)
    assert [hour.number for hour in today.busy] == [9, 10] and today.since == at(9)


def test_day_takes_two_queries(django_assert_num_queries: DjangoAssertNumQueries) -> None:
    create_journal_row(at=NOON)
    with django_assert_num_queries(2):
        assert traffic_of_today(NOON).most == 1


def test_bars_are_stacked_within_the_chart_and_a_single_request_is_seen() -> None:
    for number in range(1_000):
        hour = Hour(9, matched=10 * number, unmatched=1, faults=1)
        today = chart.Today((hour,), NOON)
        [(_, bars)] = today.drawn
        assert min(bar.height for bar in bars) >= chart.MIN_BAR
        assert min(bar.y for bar in bars) >= 0
        assert sum(bar.height for bar in bars) <= HEIGHT + 0.1


def test_overview_has_the_chart_and_its_table(root: Client) -> None:
    now = timezone.now()
    create_journal_row(at=now), create_unmatched_row(at=now)
    html = root.get("/admin/").content.decode()
    assert "1 matched" in html and "1 unmatched" in html and "0 with a fault" in html
    assert html.count('<rect class="sc-is-') == 2
    hour = f"<tr><td>{now:%H}:00</td><td>1</td><td>1</td><td>0</td></tr>"
    assert hour in html


def test_day_without_requests_has_a_message(root: Client) -> None:
    create_journal_row(at=NOON)
    html = root.get("/admin/").content.decode()
    assert "No requests yet today." in html and "<svg viewBox" not in html


def test_chart_is_hidden_without_the_right_to_see_the_journal() -> None:
    client = Client()
    client.force_login(User.objects.create_user("bare", is_staff=True))
    assert "Requests today" not in client.get("/admin/").content.decode()
