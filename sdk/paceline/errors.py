"""One root for every error that Paceline raises on purpose: a caller can catch them all by one name."""


class PacelineError(Exception):
    """Something that Paceline found wrong; the message names what it is and what to do."""
