"""Jobs in Django's own transactions."""

from django.db import connection

from paceline import JobId, NewJob
from paceline.psycopg import enqueue

POOL = "shop"


def put(job: NewJob) -> JobId:
    """Into the transaction that Django is in: the job commits with the models, or is gone with them."""
    connection.ensure_connection()
    (made,) = enqueue(connection.connection, POOL, job)
    return made.id
