"""Tests of the scenario editor: line ends, names and warnings."""
