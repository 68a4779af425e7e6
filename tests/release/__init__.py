"""Tests of packages, releases, the image, the GitHub Action and the pre-commit hook."""
