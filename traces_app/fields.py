"""JSON that is stored as text."""

import json
from typing import Any

from django.db import models
from django.db.backends.base.base import BaseDatabaseWrapper


class TextJsonField(models.JSONField):
    """Keeps the order of keys and takes any string in every database: PostgreSQL's own type
    sorts keys and refuses some characters."""

    def get_internal_type(self) -> str:
        return "TextField"

    def get_db_prep_value(
        self, value: Any, connection: BaseDatabaseWrapper, prepared: bool = False
    ) -> Any:
        return None if value is None else json.dumps(value, allow_nan=False)
