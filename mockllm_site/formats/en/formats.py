"""Formats of dates and times on pages: 2026-11-23 14:05:09 UTC."""

DATE_FORMAT = "Y-m-d"
TIME_FORMAT = "H:i:s"
DATETIME_FORMAT = "Y-m-d H:i:s T"
