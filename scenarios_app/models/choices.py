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


class FaultKind(TextChoices):
    HTTP = "http", "HTTP error"
    RATE_LIMIT = "rate_limit", "rate limit (429)"
    MODEL_ERROR = "model_error", "model error (500)"
    TIMEOUT = "timeout", "no answer, closed after a while"
    NETWORK_ERROR = "network_error", "closed before the first byte"
    INVALID_RESPONSE = "invalid_response", "malformed answer"
    DISCONNECT = "disconnect", "cut inside the answer"
    TRUNCATE = "truncate", "ends without its end mark"
    MALFORMED_CHUNK = "malformed_chunk", "malformed chunk inside the answer"
    STALL = "stall", "goes silent, then goes on"
    ERROR_EVENT = "error_event", "error event inside the stream"


class Outcome(TextChoices):
    COMPLETE = "complete", "complete"
    CLIENT_GONE = "client_gone", "client gone"
    FAULT = "fault", "fault"
    UNMATCHED = "unmatched", "unmatched"
