"""The chat's pages: the playground and the leaderboard."""

from collections.abc import Sequence

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from chat_app.comparisons import leaderboard
from chat_app.models import ModelProfile
from chat_app.profiles import default_profile
from chat_app.ranking import MEAN_SCORE, MIN_VOTES, ProfileRank
from mockllm_site.kit.api.access import CHAT_PERMISSION, local_or_logged_in

# In units of the chart.
_CHART_WIDTH, _MARK_WIDTH = 200.0, 4.0
_MARGIN = 25.0


@require_safe
@never_cache
@local_or_logged_in(CHAT_PERMISSION)
def chat_page(request: HttpRequest) -> HttpResponse:
    """Render the playground, which uses the chat API."""
    default = default_profile()
    context = {
        "profiles": [_profile_context(profile) for profile in ModelProfile.objects.all()],
        "default": default.name,
        "comparing": settings.AB_TESTING_ENABLED,
    }
    return render(request, "chat_app/chat.html", context)


def _profile_context(profile: ModelProfile) -> dict[str, object]:
    """Return the fields of a profile that the playground shows."""
    servers = profile.mcp_servers if isinstance(profile.mcp_servers, list) else []
    return {
        "name": profile.name,
        "provider_id": profile.provider_id,
        "model_id": profile.model_id,
        "system_prompt": profile.system_prompt,
        "tools": [str(name) for name in servers],
    }


@require_safe
@never_cache
@local_or_logged_in()
def leaderboard_page(request: HttpRequest) -> HttpResponse:
    """Render the leaderboard."""
    profiles = leaderboard()
    ranks = [rank for rank in profiles if not rank.too_few_votes]
    low, high = _chart_bounds(ranks)

    def to_chart(score: float) -> float:
        """Return the horizontal position of a score on the chart."""
        return (score - low) / (high - low) * _CHART_WIDTH

    # The positions of each rank's bar and of its mark on the chart.
    rows = [
        {
            "rank": rank,
            "left": f"{to_chart(rank.low):.1f}",
            "width": f"{max(to_chart(rank.high) - to_chart(rank.low), 1):.1f}",
            "score": f"{to_chart(rank.score) - _MARK_WIDTH / 2:.1f}",
        }
        for rank in ranks
    ]
    context = {
        "rows": rows,
        "unranked": [rank for rank in profiles if rank.too_few_votes],
        "min_votes": MIN_VOTES,
        "middle": f"{to_chart(MEAN_SCORE):.1f}",
    }
    return render(request, "chat_app/leaderboard.html", context)


def _chart_bounds(ranks: Sequence[ProfileRank]) -> tuple[float, float]:
    """Return the scores at both ends of the chart, which includes the average."""
    low = min((rank.low for rank in ranks), default=MEAN_SCORE)
    high = max((rank.high for rank in ranks), default=MEAN_SCORE)
    return min(low, MEAN_SCORE) - _MARGIN, max(high, MEAN_SCORE) + _MARGIN
