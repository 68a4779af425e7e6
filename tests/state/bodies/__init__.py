"""Tests of long journal bodies: packed, stored, deleted and read."""
