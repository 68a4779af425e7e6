"""A run as bars in time."""

from datetime import timedelta

from tests.traces.test_otlp import CALLS, START, a_call, a_run, at
from traces_app.otlp import ToolSpan
from traces_app.pages import CHART_WIDTH, Bar, waterfall_bars


def places(bars_found: list[Bar]) -> list[tuple[str, int, int]]:
    return [(bar.name, bar.started_ms, bar.duration_ms) for bar in bars_found]


def test_the_run_comes_first_then_what_happened_as_it_began() -> None:
    bars_found = waterfall_bars(a_run())
    assert places(bars_found) == [
        ("completed", 0, 900),
        ("model call 1", 10, 290),
        ("add", 300, 190),
        ("model call 2", 500, 390),
    ]


def test_bars_share_the_charts_width_by_their_times() -> None:
    run, first, *_ = waterfall_bars(a_run())
    assert (float(run.left), float(run.width)) == (0.0, CHART_WIDTH)
    assert (float(first.left), float(first.width)) == (11.1, 322.2)


def test_the_first_token_is_a_mark_on_its_call() -> None:
    calls = (a_call(1, 10, 300, first_token_at=at(90)), a_call(2, 500, 890))
    bars_found = {bar.name: bar.first for bar in waterfall_bars(a_run(calls=calls))}
    assert bars_found["model call 1"] == "100.0"
    assert bars_found["model call 2"] == ""


def test_no_bar_is_too_short_to_see_and_none_leaves_the_chart() -> None:
    tool = ToolSpan("call_1", "quick", at(900), at(900))
    bar = waterfall_bars(a_run(calls=(), tools=(tool,)))[1]
    assert float(bar.width) > 0
    assert float(bar.left) + float(bar.width) <= CHART_WIDTH


def test_bar_of_a_call_shows_its_end_and_its_tokens() -> None:
    calls = (a_call(1, 10, 300, code="RATE_LIMITED"), a_call(2, 500, 890, **CALLS[1]))
    bars_found = waterfall_bars(a_run(calls=calls))
    assert [(bar.detail, bar.failed) for bar in bars_found if bar.kind == "call"] == [
        ("RATE_LIMITED", True),
        ("stop, 20 → 7 tokens", False),
    ]


def test_estimated_tokens_are_marked() -> None:
    cut = a_call(1, 10, 300, input_tokens=10, output_tokens=5, tokens_estimated=True)
    assert waterfall_bars(a_run(calls=(cut,)))[1].detail.endswith(" tokens (estimated)")


def test_bar_of_a_run_shows_its_report() -> None:
    said = [
        (bar.detail, bar.failed)
        for bar in (
            waterfall_bars(a_run(report=report))[0] for report in ("", "success", "failure")
        )
    ]
    assert said == [("", False), ("report: success", False), ("report: failure", True)]


def test_a_run_of_no_time_and_clocks_that_go_back_still_make_a_chart() -> None:
    bars_found = waterfall_bars(a_run(ended=START - timedelta(seconds=1), calls=(), tools=()))
    assert places(bars_found) == [("completed", 0, 0)]
