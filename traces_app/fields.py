"""JSON that is stored as text, by the name that migrations know."""

from mockllm_site.kit.fields import JsonField as TextJsonField

__all__ = ["TextJsonField"]
