"""Paths of shipped data: beside the code in a checkout, inside the packages in a wheel."""

from pathlib import Path

PACKAGE = Path(__file__).resolve().parent
INSTALLED = PACKAGE / "data"
IN_WHEEL = INSTALLED.is_dir()

# In a wheel they are in an app, where Django finds them in any project.
FIXTURES = PACKAGE.parent / ("scenarios_app/fixtures" if IN_WHEEL else "fixtures")
SCENARIOS = INSTALLED / "scenarios" if IN_WHEEL else PACKAGE.parent / "examples" / "scenarios"
# The folder that has `docs/` and `README.md`.
PROJECT = INSTALLED if IN_WHEEL else PACKAGE.parent


def fixture_names() -> list[str]:
    """Return the names of the shipped fixtures."""
    return sorted(file.stem for file in FIXTURES.glob("*.json"))
