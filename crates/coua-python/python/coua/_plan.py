"""The memory that a filter needs."""

from dataclasses import dataclass

from coua import _coua


@dataclass(frozen=True)
class Plan:
    """The size and rate of a filter for a number of items."""

    #: Items that it is planned for.
    items: int
    #: The false positive rate with these items.
    rate: float
    #: Bytes of memory.
    memory_bytes: int
    #: Bits of memory per item.
    bits_per_item: float
    #: Bits of every key's hash that it remembers.
    hash_bits: float


def plan(items: int, rate: float | None = None, *, hash_bits: int | None = None) -> Plan:
    """How much memory a filter of `items` takes: one of fixed size with a `rate`, or a growing one with `hash_bits`
    (default 64), created for that number.

    >>> million = plan(1_000_000, 0.001)
    >>> round(million.memory_bytes / 1e6, 1), round(million.bits_per_item, 1)
    (1.7, 13.7)
    """
    return Plan(items, *_coua.plan(items, rate, hash_bits))
