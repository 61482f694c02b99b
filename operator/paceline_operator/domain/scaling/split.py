"""One lane's jobs, shared among the groups that can take them."""

from collections.abc import Sequence


def share(jobs: int, weights: Sequence[int]) -> tuple[int, ...]:
    """Whole shares in proportion to the weights, which add up to `jobs`; what is left over goes by largest remainder.

    Among equal remainders the first one wins. Without any weight above 0 nobody gets anything.
    """
    total = sum(weights)
    if jobs <= 0 or total <= 0:
        return (0,) * len(weights)
    shares = [jobs * weight // total for weight in weights]
    by_remainder = sorted(range(len(weights)), key=lambda place: -(jobs * weights[place] % total))
    for place in by_remainder[: jobs - sum(shares)]:
        shares[place] += 1
    return tuple(shares)
