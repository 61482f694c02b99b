"""Finds the handlers of an application: `package.module:name`."""

import importlib
import sys
import traceback
from pathlib import Path

from paceline.errors import InvalidInputError
from paceline.handlers import Jobs


def load(app: str) -> Jobs:
    """The Jobs at that place; the current folder is looked at first, as python itself does."""
    module_name, colon, name = app.partition(":")
    if not colon or not module_name or not name:
        raise InvalidInputError(f'app "{app}" is no place of handlers (write it like shop.jobs:jobs)')
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)
    try:
        module = importlib.import_module(module_name)
    except BaseException as error:  # whatever a module does while it is imported, sys.exit() too
        if isinstance(error, ModuleNotFoundError) and error.name and module_name.startswith(error.name):
            raise InvalidInputError(f'app "{app}": there is no module "{error.name}" (looked in {here} too)') from None
        raise InvalidInputError(f'app "{app}" cannot be imported: {type(error).__name__}: {_told(error)}') from error
    found = getattr(module, name, None)
    if not isinstance(found, Jobs):
        what = "has nothing of that name" if found is None else f"has a {type(found).__name__} of that name, no Jobs"
        raise InvalidInputError(f'app "{app}": module "{module_name}" {what}')
    if not found.kinds:
        raise InvalidInputError(f'app "{app}" has no handlers: register one with @{name}.handler("kind")')
    found.check()
    return found


def _told(error: BaseException) -> str:
    """What is wrong, and where."""
    if isinstance(error, SyntaxError):
        return f"{error.msg} ({error.filename}, line {error.lineno})"
    last = traceback.extract_tb(error.__traceback__)[-1]
    return f"{error} ({last.filename}, line {last.lineno})"
