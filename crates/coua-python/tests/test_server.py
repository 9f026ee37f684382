"""A filter goes round: server, Python, program, Python, server. Its keys are the same everywhere."""

import os
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import coua

TARGET = Path(__file__).parents[3] / "target"
BUILT = [TARGET / profile / "libcoua_valkey.so" for profile in ("debug", "release")]
MODULES = [Path(os.environ.get("COUA_MODULE", "missing")), *BUILT]
# Of a filter in the server's chunks: what stands before what a file has, and in it the hash's key.
HEAD, KEY = 64, slice(16, 32)


@pytest.fixture
def server(tmp_path: Path) -> Iterator[object]:
    redis = pytest.importorskip("redis", reason="skipped: redis-py is not installed")
    program = shutil.which("valkey-server") or shutil.which("redis-server")
    module = next((module for module in MODULES if module.exists()), None)
    if program is None or module is None:
        pytest.skip("skipped: no valkey-server or redis-server, or no module (cargo build -p coua-valkey)")
    socket = tmp_path / "socket"
    options = ["--port", "0", "--unixsocket", str(socket), "--save", "", "--dir", str(tmp_path)]
    running = subprocess.Popen([program, *options, "--loadmodule", str(module)], stdout=subprocess.DEVNULL)
    try:
        deadline = time.monotonic() + 60
        while not socket.exists():
            assert running.poll() is None and time.monotonic() < deadline
            time.sleep(0.02)
        yield redis.Redis(unix_socket_path=str(socket), decode_responses=False)
    finally:
        running.kill()
        running.wait()


def dump(server: object, name: str) -> bytes:
    position, image = 0, b""
    while True:
        position, chunk = server.execute_command("CF.SCANDUMP", name, position)  # type: ignore[attr-defined]
        if position == 0:
            return image
        image += chunk


def test_round(server: object, program: Callable[..., str], tmp_path: Path) -> None:
    ask = server.execute_command  # type: ignore[attr-defined]
    ask("CF.RESERVE", "seen", 10_000, "ERROR", 0.001)
    ask("CF.ADD", "seen", "server")
    image = dump(server, "seen")
    head, key = image[:HEAD], image[KEY]

    seen = coua.CuckooFilter.from_bytes(image[HEAD:], key=key)
    assert "server" in seen and "python" not in seen
    assert seen.add("python")
    path = tmp_path / "seen.coua"
    seen.save(path)

    (tmp_path / "key").write_bytes(key.hex().encode())
    secret = ("--secret", tmp_path / "key")
    words = "server\npython\nprogram\n"
    assert program("dedup", "--filter", path, *secret, input=words) == "program\n"

    with coua.open(path, key=key) as file:
        assert not file.add_many(["server", "python", "program"]).any()
        assert file.add("again")
    with pytest.raises(coua.LoadError, match="key"):
        coua.open(path)

    back = head + bytes(coua.CuckooFilter.load(path, key=key))
    assert ask("CF.LOADCHUNK", "back", len(back) + 1, back) in (b"OK", "OK", True)
    found = ask("CF.MEXISTS", "back", "server", "python", "program", "again", "nobody")
    assert [int(there) for there in found] == [1, 1, 1, 1, 0]
    ask("CF.ADD", "back", "end")
    assert "end" in coua.CuckooFilter.from_bytes(dump(server, "back")[HEAD:], key=key)
