"""Have I seen this before? For billions of keys, in a few bytes each.

>>> import coua
>>> seen = coua.CuckooFilter()
>>> seen.add("kestrel"), seen.add("kestrel"), "kestrel" in seen
(True, False, True)
>>> seen.add_many(["wren", "kestrel", "wren"])
array([ True, False, False])
"""

import os

import numpy  # noqa: F401  (fail here if it is missing, not in the middle of a batch)

from coua import errors
from coua._coua import (
    __VERSION__ as __version__,
    CuckooFilter,
    File,
    Filter,
    Window,
    _after_fork,
    open,
    shards,
)
from coua._plan import Plan, plan
from coua.errors import *  # noqa: F403

__all__ = ["CuckooFilter", "File", "Filter", "Plan", "Window", "open", "plan", "shards"]
__all__ += errors.__all__

if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
