"""Who calls, and what a token lets it do. Values only: where tokens are kept is somebody else's business."""

from dataclasses import dataclass
from enum import StrEnum

from paceline_gateway.problem import Problem


class TokenKind(StrEnum):
    """The first two letters of a token."""

    RUNNER = "rk"
    """A runner that dials out: one name in one group."""
    PRODUCER = "pk"
    """Enqueues and follows jobs of its pool."""
    ADMIN = "ak"
    """People, the cluster API, the dashboard."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """A caller whose token was found good."""

    token: str
    """The token's id: fit for logs, worth nothing."""
    kind: TokenKind
    pool: str | None = None
    """The only pool that it may use; None is every pool."""
    read_only: bool = False
    install: str = ""
    namespace: str = ""
    group: str | None = None
    """Of a runner's token: the RunnerGroup; None where the pool is its own group."""
    runner: str | None = None
    """Of a runner's token: the Runner's name."""

    def may_use(self, pool: str) -> None:
        """Complain about a pool that the token is not for."""
        if self.pool not in (None, pool):
            raise Problem(403, "not_allowed", f'this token is for pool "{self.pool}", not for "{pool}"')

    def pool_or(self, given: str | None) -> str:
        """The pool that was asked for, or the token's own."""
        pool = given or self.pool or "default"
        self.may_use(pool)
        return pool

    def pool_or_all(self, given: str | None) -> str | None:
        """The pool that was asked for, or the token's own; None is every pool."""
        return None if given is None and self.pool is None else self.pool_or(given)

    def may_write(self) -> None:
        """Complain where the token is only for looking."""
        if self.read_only:
            raise Problem(403, "read_only", "this token is only for looking: ask for one without --read-only")
