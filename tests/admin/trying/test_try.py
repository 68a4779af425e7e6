"""The page *Test*: a dry run of a request."""

from typing import Any

import pytest
from django.contrib.auth.models import Permission, User
from django.test import Client

from scenarios_app.control.explain import explain_call
from scenarios_app.models import ServedRequest
from scenarios_app.play.conversation import sample_call
from scenarios_app.wire.registry import wires_by_name
from scenarios_app.wire.samples import SampleRequest
from tests.admin.pages import create_scenario
from tests.admin.traffic import create_journal_row
from tests.admin.trying.tries import TRY, post_try, states

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("key", wires_by_name())
def test_form_describes_a_request_of_each_provider(key: str) -> None:
    sample = SampleRequest(
        user="What is the weather?",
        model="some-model",
        system="Be brief.",
        tools=("get_weather", "add"),
        tool_name="get_weather",
        tool_result="sunny",
        turn=3,
    )
    request = explain_call(sample_call(wires_by_name()[key].sample(sample), session="mine")).request
    assert request is not None
    assert request.model == "some-model"
    assert request.system_text == "Be brief."
    assert request.last_user_text == "What is the weather?"
    assert [tool.name for tool in request.tools] == ["get_weather", "add"]
    assert request.tool_results[-1].content == "sunny"
    assert request.tool_results[-1].name == "get_weather"
    assert request.turn == 3
    assert request.stream


def test_answering_step_is_first_and_others_say_why_not(root: Client) -> None:
    create_scenario(
        "weather",
        {"name": "rain", "match.messages(user)": "rain"},
        {"name": "sun", "match.messages(user)": "sun"},
        {"name": "sun again", "match.messages(user)": "sun"},
    )
    page = post_try(root, user="Is there sun?")
    assert states(page) == [("sun", "wins"), ("sun again", "matches"), ("rain", "misses")]
    text = page.content.decode()
    assert "contains &quot;rain&quot;" in text
    assert "answer 2" in text


def test_misses_have_the_order_of_the_404(root: Client) -> None:
    create_scenario(
        "places",
        {"name": "far", "match.messages(user)": "a mountain hut"},
        {"name": "nearer", "match.messages(user)": "sunshine in Bergen"},
        {"name": "nearest", "match.messages(user)": "sun in Parisian"},
    )
    sample = SampleRequest(user="Is there sun in Paris?", model="gpt-4o")
    explanation = explain_call(sample_call(wires_by_name()["openai"].sample(sample), session=""))
    assert explanation.decision is not None
    step_labels = [miss.step.label for miss in explanation.decision.near_misses]
    assert step_labels[0] == "nearest"
    assert [name for name, _ in states(post_try(root, user=sample.user))] == step_labels


@pytest.mark.parametrize(
    ("step", "summary"),
    [
        ({"produce.text": "It is <sunny>."}, "would say: <q>It is &lt;sunny&gt;.</q>"),
        ({"produce.text": "", "produce.tool_calls": [{"name": "f"}]}, "would say: <q>f({})</q>"),
        ({"produce.text": "", "produce.fault.kind": "rate_limit"}, "would fail with 429"),
        ({"produce.text": "", "produce.fault.kind": "network_error"}, "would close the connection"),
    ],
)
def test_answer_of_the_step_is_summarised(root: Client, step: dict[str, Any], summary: str) -> None:
    create_scenario("weather", {"name": "sun", "match.messages(user)": "sun", **step})
    page = post_try(root, user="Is there sun?").content.decode()
    assert f"Step <b>sun</b> of <b>weather</b> {summary}" in page


def test_dry_run_uses_up_no_step_and_is_not_journalled(root: Client) -> None:
    create_scenario("once", {"match.messages(user)": "hello"})
    for _ in range(3):
        assert states(post_try(root, user="hello")) == [("1", "wins")]
    assert not ServedRequest.objects.exists()


def test_every_provider_shows_its_bytes_streamed_and_whole(root: Client) -> None:
    create_scenario("talk", {"match.messages(user)": "hello", "produce.text": "Good day."})
    by_provider = {
        response_bytes.name: response_bytes
        for response_bytes in post_try(root, user="hello").context["bytes"]
    }
    assert set(by_provider) == {wire.title for wire in wires_by_name().values()}
    for response_bytes in by_provider.values():
        assert response_bytes.status == 200
        assert "Good day." in response_bytes.whole
        assert any("Good day" in text for _, text in response_bytes.streamed)
    assert by_provider["OpenAI chat"].streamed[-1][1] == "data: [DONE]"


def test_lines_of_a_stream_have_times(root: Client) -> None:
    create_scenario(
        "slow",
        {
            "match.messages(user)": "hello",
            "produce.text": "one two three",
            "produce.latency_ms": 40,
            "produce.pacing.chunk_ms": 100,
            "produce.pacing.words_per_chunk": 1,
        },
    )
    (first, *_) = post_try(root, user="hello").context["bytes"]
    times = [ms for ms, _ in first.streamed]
    assert times == sorted(times)
    assert times[0] >= 40


def test_unmatched_request_is_reported(root: Client) -> None:
    create_scenario("weather", {"match.messages(user)": "rain"})
    page = post_try(root, user="hello")
    assert page.context["answer"] == "none"
    assert b"No step matches this request. The closest: weather, step 1." in page.content


def test_try_page_can_be_limited_to_one_scenario(root: Client) -> None:
    create_scenario("one", {"match.messages(user)": "hello"})
    create_scenario("two", {"match.messages(user)": "hello"})
    page = post_try(root, user="hello", scenario="two")
    assert [card.step.scenario for card in page.context["cards"]] == ["two"]


def test_scenario_with_precedence_is_named_and_the_tried_one_answers(root: Client) -> None:
    create_scenario("mine", {"match.messages(user)": "hello", "produce.text": "Mine."})
    other = create_scenario(
        "other", {"match.messages(user)": "hello", "produce.text": "Other."}, priority=5
    )
    page = post_try(root, user="hello", scenario="mine")
    first = page.context["first"]
    assert (first.scenario, first.reason) == ("other", "higher priority")
    assert first.url == f"/admin/scenarios_app/scenario/{other.pk}/change/"
    assert "would be answered by scenario" in page.content.decode()
    assert (page.context["told"].scenario, page.context["told"].said) == ("mine", "Mine.")
    assert all("Other." not in response_bytes.whole for response_bytes in page.context["bytes"])


def test_scenario_that_does_not_match_names_the_one_that_answers(root: Client) -> None:
    create_scenario("mine", {"match.messages(user)": "goodbye"})
    create_scenario("other", {"match.messages(user)": "hello"})
    page = post_try(root, user="hello", scenario="mine")
    assert (page.context["first"].scenario, page.context["first"].reason) == ("other", "")
    assert "No step of <b>mine</b> matches." in page.content.decode()


def test_scenario_that_answers_has_no_other_before_it(root: Client) -> None:
    create_scenario("mine", {"match.messages(user)": "hello"}, priority=5)
    create_scenario("other", {"match.messages(user)": "hello"})
    assert post_try(root, user="hello", scenario="mine").context["first"] is None


def test_answer_comes_before_the_folded_steps_that_do_not_match(root: Client) -> None:
    create_scenario("talk", {"match.messages(user)": "hello"}, {"match.messages(user)": "goodbye"})
    html = post_try(root, user="hello").content.decode()
    positions = [html.index(mark) for mark in ('id="told"', "sc-bytes", 'data-state="misses"')]
    assert positions == sorted(positions)
    assert '<details class="sc-card sc-tried-step sc-misses" data-state="misses">' in html


def test_misses_with_fewer_failed_conditions_come_first(root: Client) -> None:
    create_scenario(
        "talk",
        {
            "name": "two",
            "match.messages(user)": "hello",
            "match.messages(system)": "a",
            "match.tools": ["f"],
        },
        {"name": "one", "match.messages(user)": "nothing like it"},
    )
    assert [name for name, _ in states(post_try(root, user="hello"))] == ["one", "two"]


def test_try_page_starts_with_a_request_for_the_first_step(root: Client) -> None:
    create_scenario("weather", {"match.messages(user)": "rain", "match.tools": ["get_weather"]})
    form = root.get(f"{TRY}?scenario=weather").context["form"]
    assert form["user"].value() == "rain"
    assert form["tools"].value() == "get_weather"


@pytest.mark.parametrize("path", ["/nothing", "/control/scenarios", "v1"])
def test_path_without_a_provider_is_an_error_at_its_field(root: Client, path: str) -> None:
    page = post_try(root, mode="raw", path=path, body="{}")
    assert page.context["form"].errors == {"path": ["No provider answers there."]}


def test_invalid_json_body_shows_the_providers_error(root: Client) -> None:
    page = post_try(root, mode="raw", path="/v1/chat/completions", body="{")
    assert page.context["answer"] == "refused"
    assert "invalid_request_error" in page.context["bytes"][0].whole


def test_try_page_needs_the_permission_to_view(reader: Client, client: Client) -> None:
    assert post_try(reader, user="hello").status_code == 200
    assert client.get(TRY).status_code == 302


def test_journal_entry_is_tried_only_with_permission_for_the_journal(client: Client) -> None:
    row = create_journal_row(request_body='{"model": "secret"}')
    user = User.objects.create_user("scenarios only", is_staff=True)
    user.user_permissions.add(Permission.objects.get(codename="view_scenario"))
    client.force_login(user)
    page = client.get(f"{TRY}?request={row.pk}")
    assert page.status_code == 200 and "secret" not in page.content.decode()
    user.user_permissions.add(Permission.objects.get(codename="view_servedrequest"))
    assert "secret" in client.get(f"{TRY}?request={row.pk}").content.decode()


def test_try_page_escapes_values(root: Client) -> None:
    create_scenario(
        "<b>bold</b>", {"match.messages(user)": "<i>", "produce.text": "<script>1</script>"}
    )
    text = post_try(root, user="<i>").content.decode()
    assert "<script>1</script>" not in text
    assert "&lt;b&gt;bold&lt;/b&gt;" in text
