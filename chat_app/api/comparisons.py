"""Comparisons over HTTP: stream two answers, vote, list open comparisons, the leaderboard."""

from contextlib import ExitStack
from dataclasses import asdict
from functools import partial

from django.conf import settings
from django.http.response import HttpResponseBase
from rest_framework.request import Request
from rest_framework.response import Response

from chat_app import comparisons
from chat_app.api import kit, shapes
from chat_app.api.event_stream import event_stream, stream_slot
from chat_app.api.kit import AsyncChatView, ChatView
from chat_app.api.runs import EVENTS, IDS, STREAM
from chat_app.comparisons import BRANCHES
from chat_app.errors import FORBIDDEN, ChatError
from chat_app.profiles import profile_name
from chat_app.runs.accept import IncomingMessage

documented = partial(kit.documented, tag="comparisons")


class PairStreamView(AsyncChatView):
    @documented(
        "compare",
        body=shapes.PairBody,
        headers=IDS[:1],
        answers={
            200: (EVENTS, "The events of both runs with their branch, then a `done` without one.")
        },
        errors=(403, 404, 409),
        media_type=STREAM,
    )
    async def post(self, request: Request) -> HttpResponseBase:
        """Stream the answers of two profiles to one message, under blind labels."""
        if not settings.AB_TESTING_ENABLED:
            raise ChatError(FORBIDDEN, "Comparisons are switched off (AB_TESTING_ENABLED)")
        data = self.read_body(shapes.PairBody)
        with ExitStack() as resources:
            resources.enter_context(stream_slot())
            pair = await comparisons.start_pair(
                IncomingMessage(
                    data["conversation_id"],
                    data["message"],
                    {branch: profile_name(data[f"profile_{branch}"]) for branch in BRANCHES},
                    client_id=data["client_id"],
                    client_message_id=data["client_message_id"],
                ),
                seed=data["seed"],
            )
            return await event_stream(
                request._request,
                pair.events(),
                conversation_id=pair.accepted.conversation_id,
                resources=resources.pop_all(),
            )


class VoteView(ChatView):
    @documented(
        "vote",
        body=shapes.VoteBody,
        answers={200: (shapes.VotedBody, "The vote is stored; the profiles are revealed.")},
        errors=(404, 409),
    )
    def post(self, request: Request) -> Response:
        """Vote for an answer, or a tie. A vote is final; the same one again changes nothing."""
        data = self.read_body(shapes.VoteBody)
        voted = comparisons.vote(data["client_id"], data["comparison_id"], data["preference"])
        profiles = comparisons.profile_names(voted)
        return Response(
            {"status": "recorded", "preference": voted.preference, "profiles": profiles}
        )


class ComparisonView(ChatView):
    view_all_permission = "chat_app.view_abcomparison"

    @documented(
        "read_comparison",
        query=shapes.ClientQuery,
        answers={200: (shapes.ComparisonBody, "`profiles` is null before the vote.")},
        errors=(404,),
    )
    def get(self, request: Request, comparison_id: str) -> Response:
        """Return a comparison."""
        client_id = self.query(shapes.ClientQuery).get("client_id")
        comparison = comparisons.comparison_of(client_id, comparison_id)
        return Response(comparisons.comparison_record(comparison))


class PendingView(ChatView):
    @documented(
        "list_pending_comparisons",
        query=shapes.LimitQuery,
        answers={200: (shapes.PendingBody, "The comparisons, latest first.")},
    )
    def get(self, request: Request) -> Response:
        """List a client's comparisons without a vote."""
        data = self.query(shapes.LimitQuery)
        pending = comparisons.pending_of(data["client_id"])[: data["limit"]]
        return Response({"comparisons": [comparisons.comparison_record(row) for row in pending]})


class LeaderboardView(ChatView):
    @documented(
        "leaderboard",
        answers={
            200: (
                shapes.LeaderboardBody,
                "The best first; too few votes last.",
            )
        },
    )
    def get(self, request: Request) -> Response:
        """Rank all profiles with votes."""
        rows = [
            {**asdict(rank), "votes": rank.votes, "too_few_votes": rank.too_few_votes}
            for rank in comparisons.leaderboard()
        ]
        return Response({"profiles": rows})
