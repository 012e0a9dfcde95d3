"""The private servers: they keep their data when they are killed, end with their owner, and leave nothing behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from memory_tutor import stores
from memory_tutor.stores import StoreError, servers

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="no server comes with pip for Windows")
ENGINES = ["redis", "postgres"]

#: Starts a server, says where its data are, and waits to be killed.
OWNER = """
import sys
from memory_tutor.stores import servers
server = servers.Server(sys.argv[1])
print(server._folder, server._process.pid, flush=True)
input()
"""


@pytest.fixture(autouse=True)
def folder_of_servers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The servers of a test are cleared away by that test alone."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    return servers._root()


@pytest.mark.parametrize("engine", ENGINES)
def test_a_server_answers_keeps_its_data_when_killed_and_leaves_nothing(engine: str, folder_of_servers: Path) -> None:
    with servers.Server(engine) as server:
        store = stores.open(server.address)
        version = store.append(("t", "u", "s"), [{"role": "user", "content": "Hi"}], 0)
        server.kill()
        server.start()
        assert store.load(("t", "u", "s")) == ([{"role": "user", "content": "Hi"}], {}, version)
        store.close()
    assert list(folder_of_servers.iterdir()) == []
    server.stop()  # twice is harmless


@pytest.mark.parametrize("engine", ENGINES)
def test_two_servers_of_a_kind_run_side_by_side(engine: str) -> None:
    with servers.Server(engine) as one, servers.Server(engine) as other:
        assert one.address != other.address
        stores.open(one.address).append(("t", "u", "s"), [], 0, {"goal": "x"})
        assert stores.open(other.address).load(("t", "u", "s")) == ([], {}, 0)


@pytest.mark.parametrize("engine", ENGINES)
def test_what_a_killed_owner_left_is_cleared_away_at_the_next_start(engine: str, folder_of_servers: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", OWNER, engine], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as owner:
        assert owner.stdout is not None
        folder, _, pid = owner.stdout.readline().strip().rpartition(" ")
        owner.kill()
    left = psutil.Process(int(pid))
    assert left.is_running() and Path(folder).is_dir()  # the server has outlived its owner
    with servers.Server("redis"):
        assert not psutil.pid_exists(int(pid)) or left.status() == psutil.STATUS_ZOMBIE
        assert len(list(folder_of_servers.iterdir())) == 1


def test_a_server_whose_owner_lives_is_left_alone() -> None:
    with servers.Server("redis") as one:
        with servers.Server("redis"):
            pass
        assert stores.open(one.address).load(("t", "u", "s")) == ([], {}, 0)


def test_a_process_that_has_got_the_number_of_a_dead_server_is_left_alone(folder_of_servers: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as bystander:
        left = folder_of_servers / f"{os.getpid()}-1-00000000"  # the owner's number is another process's now, too
        left.mkdir()
        (left / "pid").write_text(f"{bystander.pid}\n", encoding="ascii")
        with servers.Server("redis"):
            assert not left.exists()
        assert bystander.poll() is None
        bystander.kill()


def test_an_interrupt_of_the_notebook_does_not_reach_its_server() -> None:
    with servers.Server("redis") as server:
        assert server._process is not None
        assert os.getpgid(server._process.pid) != os.getpgid(os.getpid())


def test_a_fork_that_ends_does_not_end_the_server() -> None:
    with servers.Server("redis") as server:
        pid = os.fork()
        if not pid:
            server.stop()
            os._exit(0)
        os.waitpid(pid, 0)
        assert stores.open(server.address).load(("t", "u", "s")) == ([], {}, 0)


def test_a_server_that_does_not_start_says_why_and_leaves_nothing(
    monkeypatch: pytest.MonkeyPatch, folder_of_servers: Path
) -> None:
    monkeypatch.setattr(servers, "_free_port", lambda: 1 << 20)
    with pytest.raises(StoreError, match=r"did not start\. It said: .*port"):
        servers.Server("redis")
    assert list(folder_of_servers.iterdir()) == []


def test_a_folder_of_somebody_else_is_refused(monkeypatch: pytest.MonkeyPatch, folder_of_servers: Path) -> None:
    monkeypatch.setattr(os, "getuid", lambda: 4242)
    (folder_of_servers.parent / "memory-tutor-servers-4242").symlink_to(folder_of_servers)
    with pytest.raises(StoreError, match="not this user's folder"):
        servers.Server("redis")


def test_the_server_of_a_process_is_started_once_and_ends_with_it() -> None:
    code = (
        "from memory_tutor.stores import servers\n"
        "print(servers.address('redis') == servers.address('redis'), servers._running['redis']._process.pid)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    same, pid = done.stdout.split()
    assert same == "True" and not psutil.pid_exists(int(pid))


def test_a_kernel_that_is_asked_to_end_takes_its_server_along() -> None:
    with subprocess.Popen(
        [sys.executable, "-c", OWNER, "redis"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as owner:
        assert owner.stdout is not None
        pid = int(owner.stdout.readline().split()[-1])
        owner.send_signal(signal.SIGINT)
    assert not psutil.pid_exists(pid)


def test_mongodb_is_a_server_of_ones_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MONGODB_URI", raising=False)
    with pytest.raises(StoreError, match="Set MONGODB_URI"):
        servers.address("mongo")
    monkeypatch.setenv("MONGODB_URI", "mongodb://127.0.0.1:1/x")
    assert servers.address("mongo") == "mongodb://127.0.0.1:1/x"
