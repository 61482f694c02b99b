"""The front door: uvicorn shop:app."""

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TypedDict

import asyncpg
from fastapi import FastAPI, HTTPException, Request, status
from pydantic import BaseModel, PositiveInt

from jobs import Placed, jobs
from paceline import Queue

TABLES = """
CREATE TABLE IF NOT EXISTS articles (name text PRIMARY KEY, stock integer NOT NULL CHECK (stock >= 0));
CREATE TABLE IF NOT EXISTS orders (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, article text NOT NULL REFERENCES articles,
    count integer NOT NULL, shipped_by bigint
);
INSERT INTO articles VALUES ('pen', 10) ON CONFLICT DO NOTHING"""
ORDER = "INSERT INTO orders (article, count) VALUES ($1, $2) RETURNING id"
TAKE = "UPDATE articles SET stock = stock - $2 WHERE name = $1"
SHOW = "SELECT id, count, shipped_by FROM orders WHERE id = $1"


class Wanted(BaseModel):
    """What somebody orders."""

    article: str
    count: PositiveInt


class Taken(BaseModel):
    """What became of it."""

    order: int
    job: int


class Order(BaseModel):
    """How it stands; `shipped_by` is the job that has shipped it."""

    id: int
    count: int
    shipped_by: int | None


class Shop(TypedDict):
    """What all requests share."""

    pool: "asyncpg.Pool[asyncpg.Record]"
    queue: Queue


@asynccontextmanager
async def lifespan(_: FastAPI) -> AsyncIterator[Shop]:
    """The queue writes by the connections of the shop, and needs one of its own only to be asked something."""
    url = os.environ["PACELINE_DATABASE_URL"]
    queue = await Queue.connect(url, "shop", connections=1)
    async with asyncpg.create_pool(url, min_size=1, max_size=8) as pool:
        await pool.execute(TABLES)
        yield {"pool": pool, "queue": queue}
    await queue.close()


app = FastAPI(lifespan=lifespan)


@app.post("/orders", status_code=status.HTTP_201_CREATED)
async def place(wanted: Wanted, request: Request) -> Taken:
    """An order, the job that ships it, and fewer pens: all three or none.

    The transaction ends here, not in a dependency: what FastAPI does after a `yield` may come after the answer.
    """
    pool, queue = request.state.pool, request.state.queue
    try:
        async with pool.acquire() as connection, connection.transaction():
            order = await connection.fetchval(ORDER, wanted.article, wanted.count)
            made = await queue.enqueue(jobs.job("order.ship", Placed(order=order)), connection=connection)
            # last on purpose: when there are too few, the job that is written already must go too
            await connection.execute(TAKE, wanted.article, wanted.count)
    except asyncpg.IntegrityConstraintViolationError as error:
        raise HTTPException(status.HTTP_409_CONFLICT, f"there are no {wanted.count} of {wanted.article}") from error
    return Taken(order=order, job=made.id)


@app.get("/orders/{order}")
async def show(order: int, request: Request) -> Order:
    """How an order stands."""
    row = await request.state.pool.fetchrow(SHOW, order)
    if row is None:
        raise HTTPException(status.HTTP_404_NOT_FOUND, f"there is no order {order}")
    return Order(**row)
