"""Turns an async function into a command: the options that all share, one event loop, errors as one line.

Exit codes: 0 done, 1 an error of ours, 2 wrong usage (typer's), 3 the job that was waited for did not succeed, 4 it had
not ended in time, 130 Ctrl-C.
"""

import contextlib
import inspect
import os
import re
import sys
import traceback
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Concatenate, Final, ParamSpec, TypeAlias
from urllib.parse import unquote, urlsplit

import typer

from paceline.errors import InvalidInputError, PacelineError
from paceline_cli.options import URL_VARIABLES, Format
from paceline_cli.output import Output
from paceline_cli.source.reach import NO_WAY, Reach, opened

if TYPE_CHECKING:
    from paceline.database import Database
    from paceline_cli.source.port import Source

P = ParamSpec("P")
OUR_ERROR: Final = 1
NOT_SUCCEEDED: Final = 3
NOT_IN_TIME: Final = 4
BROKEN_PIPE: Final = 141
"""What a shell reports of a program that SIGPIPE ended."""
NO_URL: Final = (
    "no database is given: use --database-url, or set PACELINE_DATABASE_URL or DATABASE_URL, "
    "to a URL like postgresql://user:password@host:5432/database"
)
_PASSWORD_IN_URL = re.compile(r"(://[^\s/@:]*:)[^\s@]*@")

COMMON: Final[dict[str, object]] = {
    "database_url": Annotated[
        str | None,
        typer.Option(
            envvar=list(URL_VARIABLES),
            metavar="URL",
            help="The database. A password is safer in the variable: others can see a command line.",
            rich_help_panel="Common options",
        ),
    ],
    "output": Annotated[
        Format,
        typer.Option(
            "--output",
            "-o",
            metavar="|".join(Format),
            help="How the answer is written.",
            rich_help_panel="Common options",
        ),
    ],
    "as_json": Annotated[
        bool, typer.Option("--json", help="Short for -o json.", rich_help_panel="Common options")
    ],
    "verbose": Annotated[
        bool, typer.Option("--verbose", help="Show where an error came from.", rich_help_panel="Common options")
    ],
}  # fmt: skip
WAY: Final = "The way to the queue"
REACH: Final[dict[str, object]] = {
    "gateway": Annotated[
        str | None,
        typer.Option(
            metavar="URL|[NAMESPACE/]SERVICE", rich_help_panel=WAY,
            help="Ask a gateway; without it PACELINE_GATEWAY counts where no database is given, else the cluster's is.",
        ),
    ],
    "token_file": Annotated[
        Path | None,
        typer.Option(
            envvar="PACELINE_TOKEN_FILE", metavar="FILE", rich_help_panel=WAY,
            help="The gateway's token, if not in PACELINE_TOKEN or in the Secret paceline-token beside the gateway.",
        ),
    ],
    "gateway_ca": Annotated[
        Path | None,
        typer.Option(
            envvar="PACELINE_GATEWAY_CA", metavar="FILE", rich_help_panel=WAY,
            help="Certificates to trust instead of the system's.",
        ),
    ],
    "context": Annotated[
        str | None, typer.Option(metavar="NAME", help="Which context of the kubeconfig.", rich_help_panel=WAY)
    ],
    "kubeconfig": Annotated[
        str | None,
        typer.Option(envvar="KUBECONFIG", metavar="FILE", help="How to reach the cluster.", rich_help_panel=WAY),
    ],
}  # fmt: skip
"""Of commands that ask the queue, whoever answers."""
DEFAULTS: Final[dict[str, object]] = {
    "database_url": None, "output": Format.TABLE, "as_json": False, "verbose": False,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Session:
    """What one call of a command works with."""

    given_url: str | None
    out: Output
    verbose: bool = False
    reach: Reach = NO_WAY

    @property
    def url(self) -> str:
        """The database's URL; an error names all ways to give one."""
        if not self.given_url:
            raise InvalidInputError(NO_URL)
        return self.given_url

    @contextlib.asynccontextmanager
    async def database(self) -> "AsyncIterator[Database]":
        """Connected for as long as the block lasts."""
        url = self.url
        from paceline.database import Database

        async with await Database.open(url, size=2) as database:
            yield database

    def source(self) -> "AbstractAsyncContextManager[Source]":
        """The queue, by whichever way there is."""
        return opened(self.reach, self.given_url, NO_URL)


Body: TypeAlias = Callable[Concatenate[Session, P], Coroutine[object, object, int | None]]


def command(app: typer.Typer, name: str, *, source: bool = False) -> Callable[[Body[P]], Body[P]]:
    """Make an async function a command of `app`; its first parameter is the Session, the others are its options.

    With `source` it also has the options that say how to reach a gateway.
    """
    ways = REACH if source else {}

    def add(body: Body[P]) -> Body[P]:
        own = list(inspect.signature(body).parameters.values())[1:]
        shared = [
            inspect.Parameter(each, inspect.Parameter.KEYWORD_ONLY, default=DEFAULTS.get(each), annotation=annotation)
            for each, annotation in {**ways, **COMMON}.items()
        ]

        def call(**given: object) -> None:
            common = {each: given.pop(each) for each in COMMON}
            form = Format.JSON if common["as_json"] else Format(str(common["output"]))
            url = common["database_url"]
            said = {each: given.pop(each) for each in ways}
            reach = Reach(**said, namespace=given.get("namespace"))  # type: ignore[arg-type]  # typer has checked them
            session = Session(str(url) if url else None, Output(form), bool(common["verbose"]), reach)
            run(session, lambda: body(session, **given))  # type: ignore[call-arg, arg-type]  # typer has checked them

        call.__signature__ = inspect.Signature([*own, *shared])  # type: ignore[attr-defined]  # typer reads it
        call.__doc__ = body.__doc__
        app.command(name, short_help=(body.__doc__ or "").partition("\n")[0])(call)
        return body

    return add


def run(session: Session, work: Callable[[], Coroutine[object, object, int | None]]) -> None:
    """Do the work, and end the process with its exit code if that is not 0."""
    import asyncio

    try:
        code = asyncio.run(_whole(work)) or 0
        sys.stdout.flush()
    except (typer.BadParameter, typer.Exit, typer.Abort):
        raise
    except BrokenPipeError:
        # Python flushes stdout once more at its end, and would complain there
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = BROKEN_PIPE
    except KeyboardInterrupt:
        session.out.note("interrupted")
        code = 130
    except Exception as error:  # noqa: BLE001, RUF100 -- the last place that can say it in one line
        code = NOT_IN_TIME if isinstance(error, TimeoutError) and isinstance(error, PacelineError) else OUR_ERROR
        _complain(session, error)
    if code:
        raise typer.Exit(code)


async def _whole(work: Callable[[], Coroutine[object, object, int | None]]) -> int | None:
    return await work()


def _complain(session: Session, error: Exception) -> None:
    if session.verbose:
        trace = "".join(traceback.format_exception(error)).rstrip()
        session.out.note(without_password(trace, session.given_url))
    message = " ".join(str(error).split())
    if not isinstance(error, PacelineError):
        message = f"{type(error).__name__}: {message} (this should not happen; --verbose shows where it comes from)"
    from rich.text import Text

    text = Text.assemble(("error: ", "bold red"), _PASSWORD_IN_URL.sub(r"\1***@", message))
    session.out.notes.print(text, soft_wrap=True)


def without_password(text: str, url: str | None) -> str:
    """A text in which the URL's password, as written or as meant, is not to be read."""
    text = _PASSWORD_IN_URL.sub(r"\1***@", text)
    with contextlib.suppress(ValueError):
        if written := urlsplit(url or "").password:
            text = text.replace(written, "***").replace(unquote(written), "***")
    return text
