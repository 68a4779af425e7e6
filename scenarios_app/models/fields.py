"""Model fields and choices of scripts; fields of the whole site are in `kit.fields`."""

from typing import Any

from django import forms
from django.db import models
from django.db.models import TextChoices

from mockllm_site.kit.fields import JsonField, NamesField, NamesFormField

__all__ = ["JsonField", "LinesField", "NamesField", "ScriptField"]


class LinesField(JsonField):
    """A list of texts, typed in a form one on each line."""

    def formfield(self, **kwargs: Any) -> Any:
        defaults = {"form_class": LinesFormField, "widget": forms.Textarea}
        return models.Field.formfield(self, **{**defaults, **kwargs})


class LinesFormField(NamesFormField):
    separator = "\n"
    joined = "\n"


class ScriptField(models.TextField):
    """Text that is sent or compared unchanged. Forms do not strip it, and change its line ends only
    if they change the text."""

    def formfield(self, **kwargs: Any) -> Any:
        return super().formfield(**{"form_class": ScriptFormField, "strip": False, **kwargs})


class ScriptFormField(forms.CharField):
    """A text of several lines, which end with LF: browsers post CRLF, and show any as LF."""

    def to_python(self, value: Any) -> Any:
        return str(super().to_python(value) or "").replace("\r\n", "\n").replace("\r", "\n")

    def has_changed(self, initial: Any, data: Any) -> bool:
        return not self.disabled and self.to_python(initial) != self.to_python(data)


class Select(TextChoices):
    """The way a scenario is selected: by its steps' conditions, or by its name in a message."""

    MATCH = "match", "request content"
    FIRST_USER_MESSAGE = "first_user_message", "scenario name in the first user message"


class TextMode(TextChoices):
    """The comparison of a text in the request with that of a condition."""

    CONTAINS = "contains", "contains"
    EQUALS = "equals", "is exactly"
    STARTSWITH = "startswith", "starts with"
    REGEX = "regex", "matches the pattern"


class Reasoning(TextChoices):
    """The state of reasoning that a step expects in a request."""

    ENABLED = "enabled", "switched on"
    DISABLED = "disabled", "switched off"


class FinishReason(TextChoices):
    STOP = "stop", "stop"
    LENGTH = "length", "length"
    TOOL_CALLS = "tool_calls", "tool calls"
    CONTENT_FILTER = "content_filter", "content filter"
    STOP_SEQUENCE = "stop_sequence", "stop sequence"


class Outcome(TextChoices):
    """The end of the answer to a request, or that nothing matched the request."""

    COMPLETE = "complete", "complete"
    CLIENT_GONE = "client_gone", "client disconnected"
    FAULT = "fault", "fault"
    UNMATCHED = "unmatched", "unmatched"
