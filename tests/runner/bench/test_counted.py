"""The way to the database on which statements are counted."""

import asyncio

import asyncpg

from paceline_bench.counted import counted
from paceline_bench.server import connected


async def test_statements_are_counted_one_by_one_whatever_others_ask(empty_database: str) -> None:
    async with counted(empty_database) as way, connected(empty_database) as other:
        connection = await asyncpg.connect(way.url)
        way.begin()
        assert await connection.fetchval("SELECT repeat('x', 200000)") == "x" * 200_000
        await connection.execute("BEGIN")
        await connection.execute("COMMIT")
        await other.fetchval("SELECT 1")
        assert (way.statements, way.connections, way.most) == (3, 1, 1)
        await connection.close()


async def test_connections_are_counted_while_they_are_open(empty_database: str) -> None:
    async with counted(empty_database) as way:
        both = [await asyncpg.connect(way.url) for _ in range(2)]
        assert (way.connections, way.most) == (2, 2)
        await both[0].close()
        for _ in range(200):
            if way.connections == 1:
                break
            await asyncio.sleep(0.01)
        assert (way.connections, way.most) == (1, 2)
        way.begin()
        assert way.most == 1
        await both[1].close()
