"""Fixtures for every test."""

from __future__ import annotations

pytest_plugins = ["tests.fixtures_database", "tests.fixtures_sandbox"]
