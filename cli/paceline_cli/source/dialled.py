"""A gateway, by its HTTP API: for people who have a token and no way to the database."""

from datetime import timedelta

from paceline import errors
from paceline.job import JobId
from paceline.scaling import DecisionSeen, GroupFound
from paceline.seen import Attempt, GroupSnapshot, JobDetail, JobSeen, LiveState, PoolSeen, RunnerSeen, Unclaimable
from paceline_cli.source.http import PAGE
from paceline_cli.source.managing import Managing
from paceline_cli.source.port import Led


class Dialled(Managing):
    """A `Source` behind a token; `async with` opens and closes it."""

    async def find_groups(self, group: str | None = None, install: str | None = None) -> list[GroupFound]:
        """Of the groups that the token may see."""
        return [
            GroupFound(id=each.id, install=each.install, namespace=each.namespace, name=each.name, pool=each.pool)
            for each in await self.snapshot()
            if install in (None, each.install) and group in (None, each.name, f"{each.namespace}/{each.name}")
        ]

    async def snapshot(self) -> list[GroupSnapshot]:
        """How every group stands."""
        return self._read(list[GroupSnapshot], (await self._ask("GET", "/cluster/groups"))["groups"])

    async def list_runners(self, pool: str | None = None, group: str | None = None) -> list[RunnerSeen]:
        """Who is registered."""
        told = await self._ask("GET", "/cluster/runners", pool=pool, group=group)
        return self._read(list[RunnerSeen], told["runners"])

    async def list_decisions(self, group: int, *, since: timedelta, most: int) -> list[DecisionSeen]:
        """Why a group had the sizes that it had."""
        path, seconds = f"/cluster/groups/{group}/decisions", str(since.total_seconds())
        told = await self._ask("GET", path, since_seconds=seconds, limit=str(most))
        return self._read(list[DecisionSeen], told["decisions"])

    async def unclaimable(self, pool: str | None = None) -> list[Unclaimable]:
        """Ready jobs that nobody could claim."""
        told = await self._ask("GET", "/cluster/unclaimable", pool=pool)
        return self._read(list[Unclaimable], told["unclaimable"])

    async def list_pools(self) -> list[PoolSeen]:
        """Those that the token may see."""
        return self._read(list[PoolSeen], (await self._ask("GET", "/v1/pools"))["pools"])

    async def list_jobs(
        self, pool: str | None = None, *, state: LiveState | None = None, kind: str | None = None,
        before: JobSeen | JobId | None = None, limit: int = 100,
    ) -> list[JobSeen]:  # fmt: skip
        """In pages of its own, where more are wanted than it gives at once."""
        found: list[JobSeen] = []
        after = before.id if isinstance(before, JobSeen) else before
        while len(found) < limit:
            size = min(PAGE, limit - len(found))
            told = await self._ask(
                "GET", "/v1/jobs", pool=pool, state=state, kind=kind, limit=str(size),
                after=None if after is None else str(after),
            )  # fmt: skip
            found += self._read(list[JobSeen], told["jobs"])
            after = told["next"]
            if after is None:
                break
        return found

    async def job_detail(self, job: JobId) -> JobDetail | None:
        """One that the token may not see is not there."""
        try:
            told = await self._ask("GET", f"/v1/jobs/{job}")
        except errors.NotFoundError:
            return None
        seconds = told.get("timeout_seconds")
        more = {
            "trace": told.get("traceparent"), "timeout_ms": None if seconds is None else round(seconds * 1000),
        }  # fmt: skip
        return self._read(JobDetail, {**told, **more})

    async def job_attempts(self, job: JobId) -> list[Attempt]:
        """The attempts on record."""
        return self._read(list[Attempt], (await self._ask("GET", f"/v1/jobs/{job}/logs"))["attempts"])

    async def cancel(self, job: JobId) -> str:
        """Take a job out."""
        return await self._wish(job, "cancel")

    async def retry(self, job: JobId) -> str:
        """Try a job again now."""
        return await self._wish(job, "retry")

    async def promote(self, runner: str, *, group: str | None = None, install: str | None = None) -> Led:
        """Make a Runner the leader."""
        return await self._lead({"runner": runner, "group": group, "install": install})

    async def clear(self, group: str, *, install: str | None = None) -> Led:
        """End a promotion."""
        return await self._lead({"group": group, "install": install})

    async def _wish(self, job: JobId, verb: str) -> str:
        try:
            return str((await self._ask("POST", f"/v1/jobs/{job}/{verb}"))["answer"])
        except errors.NotFoundError:
            return "unknown"

    async def _lead(self, choice: dict[str, str | None]) -> Led:
        return self._read(Led, await self._ask("POST", "/cluster/promote", body=choice))
