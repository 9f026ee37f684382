"""What tests share."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

Program = Callable[..., str]


@pytest.fixture
def program() -> Program:
    """Runs the native program of the package, and gives what it prints."""
    beside = Path(sys.executable).parent / "coua"
    path = str(beside) if beside.exists() else shutil.which("coua")
    assert path, "the package brings the program"

    def run(*arguments: object, input: str = "", code: int = 0) -> str:
        done = subprocess.run(
            [path, *map(os.fspath, map(str, arguments))], input=input, capture_output=True, text=True
        )
        assert done.returncode == code, done.stderr
        return done.stdout

    return run
