"""What the admin's own pages need of the template language."""

from collections.abc import Mapping
from typing import Any

from django import template

register = template.Library()


@register.filter
def at(mapping: Mapping[str, Any], key: str) -> Any:
    """The value of a key that is data, or nothing."""
    return mapping.get(key)
