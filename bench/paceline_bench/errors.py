"""What can go wrong in a bench, in words for the one who started it."""


class BenchError(Exception):
    """The run cannot go on; the message says what to do."""


class NotMeasuredError(BenchError):
    """One thing cannot be measured; the others go on. The message is kept in the results: no path, no host name."""
