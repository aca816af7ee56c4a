"""Multiples modulo a number: where they first land in a range, and how far up they reach."""

from __future__ import annotations

from math import gcd


def max_remainder(n: int, b: int, weight: int) -> int:
    """The largest ``x * b % weight`` for ``x < n``."""
    if (n - 1) * b < weight:
        return (n - 1) * b
    if n >= weight // gcd(b, weight):
        return weight - gcd(b, weight)
    low, high = 0, weight - 1
    while low < high:
        middle = (low + high + 1) // 2
        hit = first_hit(0, b, weight, middle, weight - 1)
        if hit is not None and hit < n:
            low = middle
        else:
            high = middle - 1
    return low


def first_hit(start: int, advance: int, modulus: int, low: int, high: int) -> int | None:
    """The smallest ``x >= 0`` with ``low <= (start + x * advance) % modulus <= high``, by Euclid's algorithm."""
    low, high = (low - start) % modulus, (high - start) % modulus
    return 0 if low > high else _first_multiple(advance % modulus, modulus, low, high)


def _first_multiple(advance: int, modulus: int, low: int, high: int) -> int | None:
    if low == 0:
        return 0
    if advance == 0:
        return None
    if 2 * advance > modulus:
        return _first_multiple(modulus - advance, modulus, modulus - high, modulus - low)
    x = -(-low // advance)
    if x * advance <= high:
        return x
    wraps = _first_multiple(modulus % advance, advance, -high % advance, -low % advance)
    return None if wraps is None else -(-(low + modulus * wraps) // advance)
