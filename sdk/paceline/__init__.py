"""Paceline: jobs in Postgres, claimed by exactly one runner each."""
