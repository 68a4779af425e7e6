"""The schemas of the chat API's requests and responses."""

from collections.abc import Mapping
from typing import Any, ClassVar

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers
from rest_framework.exceptions import ValidationError

from chat_app.conversations import POSITION, ListPosition, to_position
from chat_app.models import Feedback, MessageStatus, Preference, Sender
from chat_app.ranking import MIN_VOTES
from mockllm_site.kit.api.shapes import EditedField, Flag, Shape, Text, Whole
from traces_app.models import Status

# The length of the columns.
MAX_CHARS = 200
MAX_LISTED = 1_000
DEFAULT_LISTED = 100
# Options of several fields.
NOT_BLANK: Mapping[str, Any] = {
    "keywords": {"pattern": r"\S"},
    "help_text": "More than white space.",
}
OPTIONAL: Mapping[str, Any] = {"required": False, "allow_null": True, "default": None}
OPTIONAL_TEXT: Mapping[str, Any] = {"required": False, "allow_blank": True, "default": ""}
CONVERSATION: Mapping[str, Any] = {**OPTIONAL, "help_text": "null begins a conversation."}
PROFILE: Mapping[str, Any] = {**OPTIONAL, "help_text": "A name; null is the default."}


class Id(Text):
    """A field of an id or name that accepts any string; an invalid one is not found later."""

    def __init__(self, **options: Any) -> None:
        super().__init__(allow_blank=True, **options)
        self.validators = []


class Cursor(Text):
    """The text of a position in the list of conversations."""

    def to_internal_value(self, data: Any) -> ListPosition:  # type: ignore[override]
        """Return the position; raise ValidationError for any other text."""
        position = to_position(super().to_internal_value(data))
        if position is None:
            raise ValidationError("expected the `next` of an earlier page")
        return position


class ClientBody(Shape):
    """A request of a client."""

    client_id = Text(
        max_length=MAX_CHARS,
        help_text="The client's id. Other clients' conversations are not found.",
    )


class ConversationIdBody(ClientBody):
    conversation_id = Id()


class SendBody(ClientBody):
    message = Text(allow_blank=True, **NOT_BLANK)
    conversation_id = Id(**CONVERSATION)
    profile = Id(**PROFILE)
    client_message_id = Text(
        **OPTIONAL,
        max_length=MAX_CHARS,
        help_text="The client's id of the message. If it was sent before, its run is replayed.",
    )


class StreamQuery(ClientBody):
    """A query for the events of a run after the number `after`."""

    after = Whole(
        required=False,
        digits=True,
        min_value=0,
        default=0,
        help_text="The number of the client's last event. Last-Event-ID has priority.",
    )


class CancelBody(ClientBody):
    """A run or the runs of a conversation: exactly one of `trace_id` and `conversation_id`."""

    keywords: ClassVar[Mapping[str, Any]] = {
        "oneOf": [{"required": ["trace_id"]}, {"required": ["conversation_id"]}]
    }

    trace_id = Id(required=False)
    conversation_id = Id(required=False, help_text="All live runs of this conversation.")

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if ("trace_id" in attrs) == ("conversation_id" in attrs):
            raise ValidationError("expected either trace_id or conversation_id")
        return attrs


class CancelledBody(Shape):
    """The run that was cancelled."""

    status = serializers.ChoiceField(("cancelled",))
    trace_id = serializers.UUIDField()


class LimitQuery(ClientBody):
    """A query for a list of at most `limit` entries of a client."""

    limit = Whole(
        required=False, digits=True, min_value=1, max_value=MAX_LISTED, default=DEFAULT_LISTED
    )


class ListQuery(LimitQuery):
    """A query for a client's conversations."""

    q = Text(
        **OPTIONAL_TEXT,
        max_length=MAX_CHARS,
        help_text="Text in the title or a message; case is ignored.",
    )
    after = Cursor(
        required=False,
        default=None,
        keywords={"pattern": f"^{POSITION.pattern}$"},
        help_text="The `next` of an earlier page.",
    )


class ConversationBody(Shape):
    """A conversation in a list, without its messages."""

    conversation_id = serializers.UUIDField()
    title = Text(allow_blank=True)
    created_at = serializers.DateTimeField()
    last_message_at = serializers.DateTimeField()


class ConversationsBody(Shape):
    """A client's conversations."""

    conversations = ConversationBody(many=True)
    next = Text(
        allow_null=True,
        help_text="The parameter `after` of the next page; null if nothing follows. A page of "
        "search results may have fewer than `limit` conversations before it.",
    )


class ToolCallBody(Shape):
    """A tool call with its result."""

    id = Text()
    name = Text(allow_blank=True)
    arguments = serializers.JSONField()
    result = Text(allow_blank=True, allow_null=True)
    is_error = Flag()


class PartBody(Shape):
    """A part of an answer: a text, thinking, or the tool call with this id."""

    type = serializers.ChoiceField(("text", "thinking", "tool_call"))
    content = Text(required=False)
    id = Text(required=False)


class MessageBody(Shape):
    """A message; `trace_id` is the run that wrote it, or the latest run that answered it."""

    message_id = serializers.UUIDField()
    sender = serializers.ChoiceField(Sender.choices)
    content = Text(allow_blank=True)
    thinking = Text(allow_null=True)
    tool_calls = ToolCallBody(many=True)
    parts = PartBody(many=True, help_text="The parts of an answer in their order.")
    status = serializers.ChoiceField(MessageStatus.choices)
    branch = serializers.ChoiceField(
        ("a", "b"), allow_null=True, help_text="The branch of an answer in a comparison."
    )
    feedback = serializers.ChoiceField(Feedback.choices, allow_null=True)
    trace_id = serializers.UUIDField(allow_null=True)
    answered_by = serializers.ListField(
        child=Text(), help_text="For an answer: the mock's scenario and step of each model call."
    )
    created_at = serializers.DateTimeField()
    edited_at = EditedField()


class LoadedBody(Shape):
    """A conversation with its messages."""

    conversation_id = serializers.UUIDField()
    title = Text(allow_blank=True)
    messages = MessageBody(many=True)


class NewBody(ClientBody):
    """A conversation to create."""

    title = Text(
        **OPTIONAL_TEXT, max_length=MAX_CHARS, help_text="Default: taken from the first message."
    )


class NewConversationBody(Shape):
    """The id of the new conversation."""

    conversation_id = serializers.UUIDField()


class RenameBody(ConversationIdBody):
    """A conversation's new title."""

    title = Text(max_length=MAX_CHARS, **NOT_BLANK)

    def validate_title(self, title: str) -> str:
        if not title.strip():
            raise ValidationError("expected a title of more than white space")
        return title.strip()


class RewindBody(ConversationIdBody):
    """The first message to delete."""

    message_id = Id(help_text="A user's message.")


class RewoundBody(Shape):
    """The conversation was rewound."""

    status = serializers.ChoiceField(("rewound",))


class DeletedBody(Shape):
    """The conversation was deleted."""

    status = serializers.ChoiceField(("deleted",))


class FeedbackBody(ClientBody):
    """Feedback on an answer."""

    message_id = Id()
    feedback = serializers.ChoiceField(
        Feedback.choices,
        allow_null=True,
        help_text="null removes the feedback.",
        error_messages={"required": "missing", "invalid_choice": "expected like, dislike or null"},
    )
    comment = Text(**OPTIONAL_TEXT, max_length=10_000)


class FeedbackGivenBody(Shape):
    """The stored feedback."""

    message_id = serializers.UUIDField()
    feedback = serializers.ChoiceField(Feedback.choices, allow_null=True)


_MAX_SEED = 2**63 - 1


class PairBody(ClientBody):
    """A message that two profiles answer."""

    message = Text(allow_blank=True, **NOT_BLANK)
    conversation_id = Id(**CONVERSATION)
    profile_a = Id(**PROFILE)
    profile_b = Id(**PROFILE)
    seed = Whole(
        **OPTIONAL,
        min_value=-_MAX_SEED - 1,
        max_value=_MAX_SEED,
        help_text="Chooses which profile is a; random by default.",
    )
    client_message_id = Text(
        **OPTIONAL,
        max_length=MAX_CHARS,
        help_text="The client's id of the message. If it was sent before, it is not sent again.",
    )


@extend_schema_field({"type": "string", "pattern": "^([aAbB]|[tT][iI][eE])$"})
class PreferenceField(serializers.ChoiceField):
    """A field of one of the choices, in upper or lower case."""

    def to_internal_value(self, data: Any) -> Any:
        return super().to_internal_value(data.lower() if isinstance(data, str) else data)


class VoteBody(ClientBody):
    """A vote for one of two answers, or for a tie."""

    comparison_id = Id()
    preference = PreferenceField(
        Preference.choices,
        error_messages={
            "required": "missing",
            "null": "cannot be null",
            "invalid_choice": "expected a, b or tie",
        },
        help_text="a, b or tie, in upper or lower case.",
    )


class ProfilesBody(Shape):
    """The names of the profiles behind a and b."""

    a = Text()
    b = Text()


class VotedBody(Shape):
    """The stored vote, and the profiles, which are shown from now on."""

    status = serializers.ChoiceField(("recorded",))
    preference = serializers.ChoiceField(Preference.choices)
    profiles = ProfilesBody()


class ClientQuery(Shape):
    """The client that requests a comparison."""

    client_id = Text(
        required=False, max_length=MAX_CHARS, help_text="If given, it must be the owner's."
    )


class ComparisonBody(Shape):
    """A comparison of two answers; `profiles` is null until the vote."""

    comparison_id = serializers.UUIDField()
    conversation_id = serializers.UUIDField()
    user_message_id = serializers.UUIDField()
    preference = serializers.ChoiceField(Preference.choices, allow_null=True)
    created_at = serializers.DateTimeField()
    preference_at = serializers.DateTimeField(allow_null=True)
    edited_at = EditedField()
    trace_id_a = serializers.UUIDField(allow_null=True)
    trace_id_b = serializers.UUIDField(allow_null=True)
    message_id_a = serializers.UUIDField(allow_null=True)
    message_id_b = serializers.UUIDField(allow_null=True)
    status_a = serializers.ChoiceField(Status.choices, allow_null=True)
    status_b = serializers.ChoiceField(Status.choices, allow_null=True)
    profiles = ProfilesBody(allow_null=True)


class PendingBody(Shape):
    """Comparisons without a vote."""

    comparisons = ComparisonBody(many=True)


class RankBody(Shape):
    """A profile's votes and Bradley-Terry score: 1,000 is average, 400 points more are ten wins for
    each loss. `low` and `high` are the bounds of its bootstrapped 95 % interval."""

    profile = Text()
    wins = Whole()
    ties = Whole()
    losses = Whole()
    score = serializers.FloatField()
    low = serializers.FloatField()
    high = serializers.FloatField()
    votes = Whole(help_text="Wins, ties and losses.")
    too_few_votes = Flag(help_text=f"True below {MIN_VOTES} votes: the score says little.")


class LeaderboardBody(Shape):
    """The profiles by rank."""

    profiles = RankBody(many=True)
