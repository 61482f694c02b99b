"""A real control plane and database on the developer's machine, for tests and demos; never shipped."""

from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
"""The checkout: these tools are never installed without it."""
