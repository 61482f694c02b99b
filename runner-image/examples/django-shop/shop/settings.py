"""Settings: the database of the shop is the one in which its jobs are."""

import os
from urllib.parse import unquote, urlsplit

_url = urlsplit(os.environ["PACELINE_DATABASE_URL"])

DATABASES = {
    "default": {
        "ENGINE": "django.db.backends.postgresql",
        "NAME": _url.path.removeprefix("/"),
        "USER": unquote(_url.username or ""),
        "PASSWORD": unquote(_url.password or ""),
        "HOST": _url.hostname or "",
        "PORT": _url.port or "",
    }
}
SECRET_KEY = os.environ.get("DJANGO_SECRET_KEY", "not-a-secret-for-development-only")
ALLOWED_HOSTS = ["localhost", "127.0.0.1"]
INSTALLED_APPS = ["shop"]
ROOT_URLCONF = "shop.urls"
USE_TZ = True
