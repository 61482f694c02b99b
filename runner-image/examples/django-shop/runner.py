"""What `paceline run --app runner:jobs` imports: first Django, then the handlers that use its models."""

import os

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "shop.settings")
django.setup()

from shop.jobs import jobs  # noqa: E402 -- models are there only now

__all__ = ["jobs"]
