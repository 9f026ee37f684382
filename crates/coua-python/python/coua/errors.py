"""What can be wrong with a filter or its file: all are `coua.Error`."""

import errno
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

__all__ = ["Closed", "Error", "FileError", "Full", "LoadError", "Locked", "MergeError", "Mismatch"]


class Error(Exception):
    """What is wrong with a filter or its file."""


class Full(Error):
    """A key was refused: the filter has no room for it.

    `done` keys (and nulls) of the batch, counted from its start, were processed; the others changed
    nothing. `answers` has the answers for those.
    """

    done: int
    answers: NDArray[np.bool_] | None


class LoadError(Error, ValueError):
    """The bytes or the file are no whole filter, or one of another type."""


class Locked(Error):
    """Another process is writing the file, or this one has it open."""


class MergeError(Error, ValueError):
    """Filters cannot be united; both are as they were."""


class Mismatch(Error, ValueError):
    """The filter in a file is not as it was described."""


class Closed(Error, ValueError):
    """The file is closed, or cannot be changed because it was opened for reading."""


class FileError(Error, OSError):
    """The operating system refuses a file; also a `FileNotFoundError` or a `PermissionError` where it is one."""

    def __new__(cls, number: int | None = None, *rest: Any) -> Self:
        return super().__new__(_KINDS.get(number, cls), number, *rest)


class _NotFound(FileError, FileNotFoundError):
    pass


class _NotPermitted(FileError, PermissionError):
    pass


_KINDS: dict[int | None, Any] = {errno.ENOENT: _NotFound, errno.EACCES: _NotPermitted, errno.EPERM: _NotPermitted}

for _kind in __all__:
    globals()[_kind].__module__ = "coua"
