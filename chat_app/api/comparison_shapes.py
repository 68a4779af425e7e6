"""The shapes of comparisons over HTTP."""

from rest_framework import serializers

from chat_app.api.shapes import LISTED, LONGEST, MOST_LISTED, OfClient
from chat_app.models import Preference
from mockllm_site.api.shapes import Shape, Text, Whole
from traces_app.models import Status

_BIG = 2**63 - 1


class PairBody(OfClient):
    message = Text(allow_blank=True, help_text="Not of white space alone.")
    conversation_id = Text(
        required=False, allow_null=True, default=None, help_text="null begins a conversation."
    )
    profile_a = Text(
        required=False, allow_null=True, default=None, help_text="A name; null is the default."
    )
    profile_b = Text(
        required=False, allow_null=True, default=None, help_text="A name; null is the default."
    )
    seed = Whole(
        required=False,
        allow_null=True,
        default=None,
        min_value=-_BIG - 1,
        max_value=_BIG,
        help_text="Decides which of the two is called a; without one it is drawn.",
    )
    client_message_id = Text(
        required=False,
        allow_null=True,
        default=None,
        max_length=LONGEST,
        help_text="Sent again with the same one, a message is not sent again.",
    )


class VoteBody(OfClient):
    comparison_id = Text()
    preference = serializers.ChoiceField(
        Preference.choices,
        error_messages={
            "required": "missing",
            "null": "cannot be null",
            "invalid_choice": "expected a, b or tie",
        },
    )


class ProfilesBody(Shape):
    a = Text()
    b = Text()


class VotedBody(Shape):
    status = serializers.ChoiceField(("recorded",))
    preference = serializers.ChoiceField(Preference.choices)
    profiles = ProfilesBody()


class ClientQuery(Shape):
    client_id = Text(
        required=False, max_length=LONGEST, help_text="Where it is given, it must be the owner's."
    )


class PendingQuery(OfClient):
    limit = Whole(required=False, digits=True, min_value=1, max_value=MOST_LISTED, default=LISTED)


class ComparisonBody(Shape):
    """`profiles` is null until the vote."""

    comparison_id = serializers.UUIDField()
    conversation_id = serializers.UUIDField()
    user_message_id = serializers.UUIDField()
    preference = serializers.ChoiceField(Preference.choices, allow_null=True)
    created_at = serializers.DateTimeField()
    preference_at = serializers.DateTimeField(allow_null=True)
    trace_id_a = serializers.UUIDField(allow_null=True)
    trace_id_b = serializers.UUIDField(allow_null=True)
    message_id_a = serializers.UUIDField(allow_null=True)
    message_id_b = serializers.UUIDField(allow_null=True)
    status_a = serializers.ChoiceField(Status.choices, allow_null=True)
    status_b = serializers.ChoiceField(Status.choices, allow_null=True)
    profiles = ProfilesBody(allow_null=True)


class PendingBody(Shape):
    comparisons = ComparisonBody(many=True)


class RankBody(Shape):
    """A Bradley-Terry score: 1,000 is the middle, 400 more are odds of ten to one. `low` and
    `high` are its 95 % interval, bootstrapped."""

    profile = Text()
    wins = Whole()
    ties = Whole()
    losses = Whole()
    score = serializers.FloatField()
    low = serializers.FloatField()
    high = serializers.FloatField()


class LeaderboardBody(Shape):
    profiles = RankBody(many=True)
