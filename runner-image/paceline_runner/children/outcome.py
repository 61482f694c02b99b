"""What an executor makes of work that came to nothing, or of an answer."""

import json
from datetime import timedelta

from paceline.errors import InvalidInputError
from paceline.invoke import settle
from paceline.job import PAYLOAD_LIMIT, encode
from paceline_runner.attempt import Attempt, Broken, Cause, Done, Ended
from paceline_runner.children.errors import OutsideError

RESULT_LIMIT = PAYLOAD_LIMIT


def again(attempt: Attempt, error: OutsideError, cause: str = Cause.FAILED, wait: timedelta | None = None) -> Broken:
    """Tried again as the handler's policy says; `wait` goes before the policy's own, if it wants another try at all."""
    text, retry_in = settle(attempt.handler, attempt.job, error)
    return Broken(text, retry_in if wait is None or retry_in is None else wait, cause)


def never(error: str, cause: str = Cause.FAILED) -> Broken:
    """Not tried again: it would end the same way."""
    return Broken(error, None, cause)


def result(attempt: Attempt, body: bytes, *, text: bool = False, hint: str = "") -> Ended:
    """An answer as a result. JSON is kept as it was written, number for number, once it is known to be storable."""
    name = f'result of "{attempt.job.kind}"'
    if len(body) > RESULT_LIMIT:
        return never(f"{name} has more than {RESULT_LIMIT} bytes (store it elsewhere and return a reference)",
                     Cause.BAD_RESULT)  # fmt: skip
    try:
        said = body.decode()
        if text:
            return Done(encode(said, name) if said else None)
        said = said.strip()
        if not said:
            return Done()
        encode(json.loads(said), name)
    except InvalidInputError as error:
        return never(str(error), Cause.BAD_RESULT)
    except UnicodeDecodeError as error:
        return never(f"{name} is no UTF-8: {error.reason} at byte {error.start}", Cause.BAD_RESULT)
    except ValueError as error:
        return never(f"{name} is no JSON: {error}{hint}", Cause.BAD_RESULT)
    except RecursionError:
        return never(f"{name} is nested too deeply (flatten it)", Cause.BAD_RESULT)
    return Done(said)
