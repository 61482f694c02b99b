"""Signing in: a cookie that scripts cannot read and other sites cannot use."""

import ssl
from http.cookies import Morsel, SimpleCookie
from pathlib import Path

import httpx
import pytest

from dashboard.conftest import API, MARKED, signed_in
from gateway.conftest import Client, until
from gateway.door.conftest import Door, StartGateway
from paceline_dev.pki import Authority
from paceline_gateway.door import COOKIE, MARK

SESSION = f"{API}/session"


async def sign_in(client: Client, token: str, **headers: str) -> httpx.Response:
    return await client.post(SESSION, headers={"authorization": f"Bearer {token}", **headers})


def cookie_of(answer: httpx.Response) -> "Morsel[str]":
    return SimpleCookie(answer.headers["set-cookie"])[COOKIE]


async def test_the_cookie_is_for_our_own_page_alone(site: Door, address: str) -> None:
    token = await site.tokens.create("ak")
    answer = await sign_in(await site.nobody(address), token)
    assert answer.status_code == 204
    cookie = cookie_of(answer)
    assert cookie.value == token
    assert cookie["httponly"] is True
    assert cookie["samesite"] == "strict"
    assert cookie["path"] == API
    assert 0 < int(cookie["max-age"]) <= 24 * 3600
    assert not cookie["secure"], "without TLS a browser would not keep it"


async def test_where_a_trusted_proxy_speaks_tls_the_cookie_is_secure(site: Door) -> None:
    address = await site.start(proxies=("127.0.0.1",))
    answer = await sign_in(await site.nobody(address), await site.tokens.create("ak"), **{"x-forwarded-proto": "https"})
    assert cookie_of(answer)["secure"] is True


async def test_who_is_signed_in_is_told(site: Door, address: str) -> None:
    token = await site.tokens.create("ak", pool="builds", read_only=True)
    told = (await (await signed_in(site, address, token)).get(SESSION)).json()
    assert told == {"token": token.split("_")[1], "pool": "builds", "read_only": True}


@pytest.mark.parametrize("kind", ["pk", "rk"])
async def test_only_an_admins_token_opens_it(site: Door, address: str, kind: str) -> None:
    given = {"pool": "builds", **({"runner": "laptop"} if kind == "rk" else {})}
    answer = await sign_in(await site.nobody(address), await site.tokens.create(kind, **given))  # type: ignore[arg-type]
    assert (answer.status_code, answer.json()["error"]) == (403, "not_allowed")
    assert "set-cookie" not in answer.headers


async def test_a_bad_token_gets_no_cookie(site: Door, address: str) -> None:
    answer = await sign_in(await site.nobody(address), f"ak_{'0' * 12}_{'x' * 43}")
    assert answer.status_code == 401
    assert "set-cookie" not in answer.headers


async def test_the_cookie_opens_nothing_but_the_dashboard(site: Door, address: str) -> None:
    client = await site.nobody(address, headers=MARKED)
    cookie = {"cookie": f"{COOKIE}={await site.tokens.create('ak')}"}
    assert (await client.get(f"{API}/pools", headers=cookie)).status_code == 200
    for path in ("/v1/jobs", "/cluster/nodes", "/v1/pools"):
        assert (await client.get(path, headers=cookie)).status_code == 401, path


WRITES = [
    ("DELETE", "session"), ("POST", "jobs/1/cancel"), ("POST", "jobs/1/retry"), ("POST", "dead/redrive"),
    ("POST", "runners/1/drain"), ("PUT", "runners/1/taints"), ("POST", "cron/nightly/pause"),
    ("POST", "cron/nightly/resume"),
]  # fmt: skip


@pytest.mark.parametrize(("method", "path"), WRITES)
async def test_a_write_that_our_page_did_not_send_is_refused(person: Client, method: str, path: str) -> None:
    del person.headers[MARK]
    answer = await person.request(method, f"{API}/{path}", json={"all": True} if "dead" in path else None)
    assert (answer.status_code, answer.json()["error"]) == (403, "forged")


async def test_without_tokens_a_write_needs_the_mark_all_the_same(site: Door) -> None:
    client = await site.nobody(await site.start(auth=False))
    assert (await client.get(SESSION)).json() == {"token": "", "pool": None, "read_only": False}
    assert (await client.post(f"{API}/jobs/1/cancel")).json()["error"] == "forged"
    assert (await client.post(f"{API}/jobs/1/cancel", headers=MARKED)).json()["error"] == "not_found"


async def test_who_signs_out_is_out(person: Client) -> None:
    assert (await person.get(SESSION)).status_code == 200
    answer = await person.delete(SESSION)
    assert answer.status_code == 204
    assert cookie_of(answer)["httponly"] is True
    assert (await person.get(SESSION)).status_code == 401


async def test_the_end_of_the_token_is_the_end_of_the_session(site: Door, address: str) -> None:
    token = await site.tokens.create("ak")
    client = await signed_in(site, address, token)
    await site.tokens.revoke(token.split("_")[1])

    async def is_out() -> bool:
        return (await client.get(f"{API}/pools")).status_code == 401

    await until(is_out)


READ_ONLY = [(method, path) for method, path in WRITES if path != "session"]


@pytest.mark.parametrize(("method", "path"), READ_ONLY)
async def test_who_may_only_look_changes_nothing(guest: Client, method: str, path: str) -> None:
    body = {"taints": ""} if "taints" in path else {"all": True} if "dead" in path else None
    answer = await guest.request(method, f"{API}/{path}", json=body)
    assert (answer.status_code, answer.json()["error"]) == (403, "read_only")


async def test_where_the_gateway_serves_tls_itself_the_cookie_is_secure(
    site: Door, start: StartGateway, tmp_path: Path
) -> None:
    authority = Authority(tmp_path, "ca")
    pair = authority.issue("gateway", addresses=["127.0.0.1"])
    gateway = await start("--tls-cert", str(pair.certificate), "--tls-key", str(pair.key))
    trust = ssl.create_default_context(cafile=authority.certificate)
    address = gateway.address.replace("http", "https")
    async with httpx.AsyncClient(base_url=address, verify=trust, headers=MARKED, timeout=40) as client:
        token = await site.tokens.create("ak")
        answer = await sign_in(client, token)
        assert (answer.status_code, cookie_of(answer)["secure"]) == (204, True)
        assert (await client.get(SESSION)).json()["token"] == token.split("_")[1], "the cookie alone says who it is"
        gone = await client.delete(SESSION)
        assert (gone.status_code, cookie_of(gone)["secure"]) == (204, True)
        assert (await client.get(SESSION)).status_code == 401
