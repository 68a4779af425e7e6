"""Fixtures that every folder of the suite shares."""
