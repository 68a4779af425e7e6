"""What the columns of a scenario may say, in the document's words and in people's."""

from django.db.models import TextChoices


class Select(TextChoices):
    MATCH = "match", "what the request holds"
    FIRST_USER_MESSAGE = "first_user_message", "its name as the first user message"


class TextMode(TextChoices):
    CONTAINS = "contains", "contains"
    EQUALS = "equals", "is exactly"
    STARTSWITH = "startswith", "starts with"
    REGEX = "regex", "matches the pattern"


class Reasoning(TextChoices):
    ENABLED = "enabled", "switched on"
    DISABLED = "disabled", "switched off"


class FinishReason(TextChoices):
    STOP = "stop", "stop"
    LENGTH = "length", "length"
    TOOL_CALLS = "tool_calls", "tool calls"
    CONTENT_FILTER = "content_filter", "content filter"
    STOP_SEQUENCE = "stop_sequence", "stop sequence"


class Outcome(TextChoices):
    COMPLETE = "complete", "complete"
    CLIENT_GONE = "client_gone", "client gone"
    FAULT = "fault", "fault"
    UNMATCHED = "unmatched", "unmatched"
