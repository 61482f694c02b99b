"""The way from one operator to another: a standby is asked for demand, and only the one that acts knows it."""

from types import TracebackType
from typing import Final, Self
from urllib.parse import quote

import aiohttp
from pydantic import ValidationError

from paceline_operator.adapters.queue import Key
from paceline_operator.domain.scaling.told import WIRE, DemandTold, NoDemandError

SECONDS: Final = 3.0
"""The HPA's own client waits longer, and the answer comes from memory."""


class Neighbour:
    """Asks the operator that acts; `async with` opens and closes it."""

    def __init__(self) -> None:
        """Not open yet."""
        self._session: aiohttp.ClientSession | None = None

    async def __aenter__(self) -> Self:
        self._session = aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=SECONDS))
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None
    ) -> None:
        if self._session is not None:
            await self._session.close()

    async def ask(self, address: str, key: Key) -> DemandTold:
        """What it says. NoDemandError: it cannot be reached, or does not know."""
        assert self._session is not None
        url = f"http://{address}/demand/{'/'.join(quote(part, safe='') for part in key)}"
        try:
            # one that acts no more must not send us on: we would ask in a circle
            async with self._session.get(url, allow_redirects=False) as answer:
                body = await answer.read()
        except (aiohttp.ClientError, TimeoutError) as error:
            raise NoDemandError(f"the operator that acts cannot be reached: {str(error) or 'no answer'}") from None
        if answer.status != 200:
            raise NoDemandError(
                f"the operator that acts says: {body.decode(errors='replace').strip()}", missing=answer.status == 404
            )
        try:
            return WIRE.validate_json(body)
        except ValidationError as error:
            raise NoDemandError(f"the operator that acts cannot be understood: {error}") from None
