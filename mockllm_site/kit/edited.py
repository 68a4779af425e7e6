"""The mark of rows that a person changed, beside what programs wrote."""

from django.db import models


class EditedRow(models.Model):
    """Base of records that people may edit in the admin; `edited_at` is when one last did. Null in
    rows that only programs wrote."""

    edited_at = models.DateTimeField(null=True, blank=True, editable=False)

    class Meta:
        abstract = True
