"""One root for every error that Paceline raises on purpose: a caller can catch them all by one name."""


class PacelineError(Exception):
    """Something that Paceline found wrong; the message names what it is and what to do."""


class InvalidInputError(PacelineError, ValueError):
    """A value that cannot be stored; nothing was written."""


class NotAllowedError(PacelineError):
    """The login may not do this on that pool."""


class PoolFullError(PacelineError):
    """The pool has as many waiting jobs as its max_depth allows."""


class TooManyLanesError(PacelineError):
    """The pool has too many different combinations of kind, tags and tolerations."""


class NotFoundError(PacelineError):
    """There is no such thing in this database."""


class NameTakenError(PacelineError):
    """Another group has a Runner of that name."""


class PoolConflictError(PacelineError):
    """Another namespace or group serves the pool, and it cannot be shared."""


class NotInOfficeError(PacelineError):
    """Another operator of the installation acts now: nothing was changed."""


class NotEligibleError(PacelineError):
    """It cannot lead: its group has no leader, it is not registered, or a taint forbids it."""


class RequestMismatchError(PacelineError):
    """The idempotency key was used for another request."""


class SchemaError(PacelineError):
    """The database has no Paceline schema, an older one, or one that this version does not know."""


class GatewayError(PacelineError):
    """The gateway cannot be reached, or does not answer."""


class DatabaseError(PacelineError):
    """The database cannot be reached, or does not let us in."""
