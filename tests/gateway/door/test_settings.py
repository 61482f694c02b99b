"""Without tokens only this machine may come in."""

import pytest

from paceline.errors import InvalidInputError
from paceline_gateway.settings import Settings

URL = "postgresql://gateway@db/jobs"


@pytest.mark.parametrize("host", ["127.0.0.1", "127.9.9.9", "::1", "localhost"])
def test_a_loopback_address_needs_no_tokens(host: str) -> None:
    assert not Settings(database_url=URL, host=host, auth=False).auth


ANYWHERE = "0.0.0.0"  # noqa: S104 -- that is the point


@pytest.mark.parametrize("host", [ANYWHERE, "::", "", "10.0.0.1", "gateway.example.com", "localhost.example.com"])
def test_every_other_one_does(host: str) -> None:
    with pytest.raises(InvalidInputError, match="listen on 127"):
        Settings(database_url=URL, host=host, auth=False)


def test_no_password_is_shown() -> None:
    secret = "postgresql://gateway:topsecret@db/jobs"
    assert "topsecret" not in repr(Settings(database_url=secret, listen_url=secret))
