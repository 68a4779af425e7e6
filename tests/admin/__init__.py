"""Tests of the admin pages for scenarios, drafts, journal and sessions."""
