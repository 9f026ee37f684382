"""Errors of filters and their files. All are `coua.Error`."""

import errno
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

__all__ = ["Closed", "Error", "FileError", "Full", "LoadError", "Locked", "MergeError", "Mismatch"]


class Error(Exception):
    """An error of a filter or its file."""


class Full(Error):
    """A key was refused: the filter has no room for it.

    The first `done` keys (and nulls) of the batch were processed; the others changed nothing. `answers` has the
    answers for the processed ones.
    """

    done: int
    answers: NDArray[np.bool_] | None


class LoadError(Error, ValueError):
    """The bytes or the file are not a complete filter, or one of another type."""


class Locked(Error):
    """Another process is writing the file, or this process already has it open."""


class MergeError(Error, ValueError):
    """Filters cannot be merged; both are unchanged."""


class Mismatch(Error, ValueError):
    """The filter in a file differs from its description."""


class Closed(Error, ValueError):
    """The file is closed, or was opened only for reading."""


class FileError(Error, OSError):
    """An error of the operating system; also a `FileNotFoundError` or a `PermissionError` if it is one."""

    def __new__(cls, number: int | None = None, *rest: Any) -> Self:
        return super().__new__(_KINDS.get(number, cls), number, *rest)


class _NotFound(FileError, FileNotFoundError):
    pass


class _NotPermitted(FileError, PermissionError):
    pass


_KINDS: dict[int | None, Any] = {errno.ENOENT: _NotFound, errno.EACCES: _NotPermitted, errno.EPERM: _NotPermitted}

for _kind in __all__:
    globals()[_kind].__module__ = "coua"
