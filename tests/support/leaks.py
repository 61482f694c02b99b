"""Says which test has left a connection open: the collector finds it in a later one, which has to answer for it."""

import os
from asyncio import selector_events
from typing import Any

_Transport: Any = selector_events._SelectorTransport  # type: ignore[attr-defined]
_make, _told = _Transport.__init__, _Transport.__repr__


def _init(self: Any, *args: object, **kwargs: object) -> None:
    _make(self, *args, **kwargs)
    self._extra["test"] = os.environ.get("PYTEST_CURRENT_TEST", "no test")


def _repr(self: Any) -> str:
    return f"{_told(self)} of {self.get_extra_info('test')}"


_Transport.__init__, _Transport.__repr__ = _init, _repr
