"""The handlers: plain functions, as the ORM waits for the database. Each runs in a thread."""

from collections.abc import Iterator
from contextlib import contextmanager

from django.db import close_old_connections
from pydantic import BaseModel

from paceline import Context, Exponential, Jobs
from shop.models import Order

jobs = Jobs()


class Placed(BaseModel):
    """An order that is committed: the job would not be there otherwise."""

    order: int


@contextmanager
def request() -> Iterator[None]:
    """What Django does around each request: a connection that the server has closed is not used again."""
    close_old_connections()
    try:
        yield
    finally:
        close_old_connections()


@jobs.handler("order.ship", retry=Exponential())
def ship(placed: Placed, context: Context) -> bool:
    """Whether it was this job. The condition makes a second run of it do nothing."""
    with request():
        open_orders = Order.objects.filter(pk=placed.order, shipped_by=None)
        return bool(open_orders.update(shipped_by=context.job_id))
