"""The waterfall chart of a run."""

from datetime import timedelta

from tests.traces.test_otlp import CALLS, START, make_call, make_run, time_at
from traces_app.otlp import ToolSpan
from traces_app.pages import CHART_WIDTH, Bar, waterfall_bars


def bar_times(bars: list[Bar]) -> list[tuple[str, int, int]]:
    return [(bar.name, bar.started_ms, bar.duration_ms) for bar in bars]


def test_bars_are_ordered_by_start_after_the_run() -> None:
    bars = waterfall_bars(make_run())
    assert bar_times(bars) == [
        ("completed", 0, 900),
        ("model call 1", 10, 290),
        ("add", 300, 190),
        ("model call 2", 500, 390),
    ]


def test_bars_share_the_charts_width_by_their_times() -> None:
    run, first, *_ = waterfall_bars(make_run())
    assert (float(run.left), float(run.width)) == (0.0, CHART_WIDTH)
    assert (float(first.left), float(first.width)) == (11.1, 322.2)


def test_the_first_token_is_a_mark_on_its_call() -> None:
    calls = (make_call(1, 10, 300, first_token_at=time_at(90)), make_call(2, 500, 890))
    bars = {bar.name: bar.first for bar in waterfall_bars(make_run(calls=calls))}
    assert bars["model call 1"] == "100.0"
    assert bars["model call 2"] == ""


def test_bars_have_a_minimum_width_and_stay_in_the_chart() -> None:
    tool = ToolSpan("call_1", "quick", time_at(900), time_at(900))
    bar = waterfall_bars(make_run(calls=(), tools=(tool,)))[1]
    assert float(bar.width) > 0
    assert float(bar.left) + float(bar.width) <= CHART_WIDTH


def test_bar_of_a_call_shows_its_end_and_its_tokens() -> None:
    calls = (make_call(1, 10, 300, code="RATE_LIMITED"), make_call(2, 500, 890, **CALLS[1]))
    bars = waterfall_bars(make_run(calls=calls))
    assert [(bar.detail, bar.failed) for bar in bars if bar.kind == "call"] == [
        ("RATE_LIMITED", True),
        ("stop, 20 → 7 tokens", False),
    ]


def test_estimated_tokens_are_marked() -> None:
    cut = make_call(1, 10, 300, input_tokens=10, output_tokens=5, tokens_estimated=True)
    assert waterfall_bars(make_run(calls=(cut,)))[1].detail.endswith(" tokens (estimated)")


def test_bar_of_a_run_shows_its_report() -> None:
    labels = [
        (bar.detail, bar.failed)
        for bar in (
            waterfall_bars(make_run(report=report))[0] for report in ("", "success", "failure")
        )
    ]
    assert labels == [("", False), ("report: success", False), ("report: failure", True)]


def test_run_with_negative_duration_has_a_chart() -> None:
    bars = waterfall_bars(make_run(ended_at=START - timedelta(seconds=1), calls=(), tools=()))
    assert bar_times(bars) == [("completed", 0, 0)]
