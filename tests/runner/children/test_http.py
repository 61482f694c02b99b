"""The contract of an HTTP handler: what the server is sent, and what its answer means."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import timedelta

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer
from pydantic import JsonValue

from paceline.handlers import Jobs
from paceline.retry import Fixed, Never, RetryPolicy
from paceline_runner.attempt import Broken, Cause, Done, Ended
from paceline_runner.children.http import HttpExecutor
from runner.children.parts import BOTH_LOOPS, ONE_LOOP, PATIENCE, TRACE, WAIT, Work, open_descriptors
from support.listening import listening

pytestmark = ONE_LOOP
Answer = Callable[[web.Request], Awaitable[web.StreamResponse]]


@pytest.fixture
async def executor() -> AsyncIterator[HttpExecutor]:
    before = open_descriptors()
    executor = HttpExecutor()
    yield executor
    await executor.close()
    await asyncio.sleep(0)
    assert open_descriptors() <= before


@asynccontextmanager
async def server(answer: Answer) -> AsyncIterator[str]:
    """A server with one answer to everything; its URL."""
    app = web.Application(client_max_size=2**22)
    app.router.add_route("*", "/{path:.*}", answer)
    async with TestServer(app) as running:
        yield str(running.make_url("/work?token=secret"))


def work(
    url: str,
    payload: JsonValue = None,
    *,
    retry: RetryPolicy | None = None,
    trace: str | None = None,
    tries: int = 0,
    headers: dict[str, str] | None = None,
) -> Work:
    jobs = Jobs()
    jobs.http("thumbs.make", url, headers=headers, retry=retry or Fixed(WAIT))
    return Work(jobs.get("thumbs.make"), payload, trace=trace, tries=tries)


async def answered(executor: HttpExecutor, retry: RetryPolicy | None = None, **response: object) -> Ended:
    """What becomes of a job whose server answers like this."""

    async def answer(_: web.Request) -> web.Response:
        return web.Response(**response)  # type: ignore[arg-type] # whatever a response may have

    async with server(answer) as url:
        return await executor.run(work(url, retry=retry))


async def broken(executor: HttpExecutor, retry: RetryPolicy | None = None, **response: object) -> Broken:
    ended = await answered(executor, retry, **response)
    assert isinstance(ended, Broken), ended
    return ended


@BOTH_LOOPS
async def test_the_payload_is_posted_and_the_answer_is_the_result(executor: HttpExecutor) -> None:
    seen: list[web.Request] = []
    bodies: list[bytes] = []

    async def answer(request: web.Request) -> web.Response:
        seen.append(request)
        bodies.append(await request.read())
        return web.json_response({"ok": True})

    async with server(answer) as url:
        job = work(url, {"to": "é"}, trace=TRACE, tries=2,
                   headers={"Authorization": "Bearer x", "paceline-fence": "0"})  # fmt: skip
        assert await executor.run(job) == Done('{"ok": true}')
    (request,) = seen
    assert request.method == "POST"
    assert bodies == [job.job.body.encode()]
    wanted = {
        "Content-Type": "application/json",
        "Paceline-Job-Id": "7",
        "Paceline-Fence": "41",
        "Paceline-Attempt": "3",
        "Paceline-Kind": "thumbs.make",
        "traceparent": TRACE,
        "Authorization": "Bearer x",
    }
    for name, value in wanted.items():
        assert request.headers.getall(name) == [value]


async def test_an_empty_answer_is_no_result(executor: HttpExecutor) -> None:
    assert await answered(executor, status=204) == Done(None)
    assert await answered(executor, status=200, text=" \n") == Done(None)
    assert await answered(executor, status=202, text="5") == Done("5")


async def test_an_answer_that_cannot_be_kept_is_never_tried_again(executor: HttpExecutor) -> None:
    for body in (b"<html>", b"NaN", b"\xff", b'"\\u0000"', b"1" * (2**20 + 1)):
        ended = await broken(executor, body=body)
        assert (ended.cause, ended.retry_in) == (Cause.BAD_RESULT, None)


@pytest.mark.parametrize("status", [408, 425, 429, 500, 503, 599])
async def test_these_are_tried_again_by_the_policy(executor: HttpExecutor, status: int) -> None:
    ended = await broken(executor, status=status, text="later")
    assert ended.error.startswith('HttpError: http "http://127.0.0.1:')
    assert str(status) in ended.error
    assert ended.error.endswith("later")
    assert "secret" not in ended.error
    assert (ended.cause, ended.retry_in) == (Cause.FAILED, WAIT)


@pytest.mark.parametrize("status", [400, 401, 404, 422])
async def test_these_are_never_tried_again(executor: HttpExecutor, status: int) -> None:
    ended = await broken(executor, status=status, text="no such picture", headers={"Retry-After": "5"})
    assert str(status) in ended.error
    assert "no such picture" in ended.error
    assert (ended.cause, ended.retry_in) == (Cause.FAILED, None)


async def test_retry_after_goes_before_the_policys_wait_but_not_before_its_end(executor: HttpExecutor) -> None:
    ended = await broken(executor, status=503, headers={"Retry-After": "120"})
    assert ended.retry_in == timedelta(seconds=120)
    ended = await broken(executor, Never(), status=503, headers={"Retry-After": "120"})
    assert ended.retry_in is None


async def test_an_error_has_the_first_four_kibibytes_of_the_answer(executor: HttpExecutor) -> None:
    ended = await broken(executor, status=500, body=b"a" * 4096 + b"b" * 100_000)
    assert ended.error.count("a" * 4096) == 1
    assert "ab" not in ended.error


async def test_a_redirect_is_not_followed(executor: HttpExecutor) -> None:
    hits: list[str] = []

    async def answer(request: web.Request) -> web.Response:
        hits.append(request.path)
        return web.Response(status=302, headers={"Location": "/elsewhere"})

    async with server(answer) as url:
        ended = await executor.run(work(url))
    assert isinstance(ended, Broken)
    assert "redirect" in ended.error
    assert ended.retry_in is None
    assert hits == ["/work"]


@BOTH_LOOPS
async def test_a_server_that_is_away_or_breaks_off_is_tried_again(executor: HttpExecutor) -> None:
    async def answer(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Length": "100"})
        await response.prepare(request)
        await response.write(b'{"half')
        assert request.transport is not None
        request.transport.abort()
        return response

    async with server(answer) as url:
        cut = await executor.run(work(url))
    away = await executor.run(work(url))
    for ended in (cut, away):
        assert isinstance(ended, Broken)
        assert "cannot be reached, or broke off" in ended.error
        assert (ended.cause, ended.retry_in) == (Cause.FAILED, WAIT)


@BOTH_LOOPS
async def test_cancelling_closes_the_connection(executor: HttpExecutor) -> None:
    asked, closed = asyncio.Event(), asyncio.Event()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        asked.set()
        while await reader.read(1000):
            pass
        closed.set()
        writer.close()

    async with listening(serve) as port:
        task = asyncio.create_task(executor.run(work(f"http://127.0.0.1:{port}/")))
        await asked.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        async with asyncio.timeout(PATIENCE):
            await closed.wait()


async def test_proxies_of_the_environment_and_cookies_are_not_used(
    executor: HttpExecutor, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    cookies: list[str | None] = []

    async def answer(request: web.Request) -> web.Response:
        cookies.append(request.headers.get("Cookie"))
        return web.Response(headers={"Set-Cookie": "job=7"})

    async with server(answer) as url:
        for _ in range(2):
            assert await executor.run(work(url)) == Done(None)
    assert cookies == [None, None]


async def test_a_trace_that_is_no_header_is_left_out(executor: HttpExecutor) -> None:
    seen: list[str | None] = []

    async def answer(request: web.Request) -> web.Response:
        seen.append(request.headers.get("traceparent"))
        return web.Response()

    async with server(answer) as url:
        assert await executor.run(work(url, trace="00-x\r\nEvil: 1")) == Done(None)
    assert seen == [None]
