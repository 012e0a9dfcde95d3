"""What a store must stand: rivals, kills, full disks, refusals, damage, and servers that are away."""

from __future__ import annotations

import secrets
import signal
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

import faults
import places
import psycopg
import pymongo
import pytest
import redis
from faults import add, turn

from memory_tutor import stores
from memory_tutor.stores import Store, StoreDamaged, StoreDown, StoreError, servers

resource = pytest.importorskip("resource", reason="kills and full disks are tried on POSIX systems")

Conversation = tuple[str, str, str]
OpenStore = Callable[..., Store]

of_servers = pytest.mark.parametrize("engine", [each for each in places.ENGINES if each not in ("json", "sqlite")])
of_killed = pytest.mark.parametrize("engine", places.KILLED)
of_files = pytest.mark.parametrize("engine", ["json", "sqlite"])


# -- rivals and kills ------------------------------------------------------------------------------------


@pytest.mark.parametrize("experiment", faults.EXPERIMENTS)
def test_nothing_acknowledged_is_lost_torn_or_doubled(
    new_place: places.Place, conversation: Conversation, tmp_path: Path, experiment: str
) -> None:
    found = faults.EXPERIMENTS[experiment](new_place.address, conversation, tmp_path / "log")
    assert found.sound, found


@of_killed
def test_nothing_acknowledged_is_lost_with_its_server(engine: str, tmp_path: Path, conversation: Conversation) -> None:
    with places.opened(engine, tmp_path) as place:
        found = faults.killed_server(place, conversation, kills=25)
    assert found.sound, found


def test_the_experiments_see_what_is_lost_torn_and_doubled(tmp_path: Path, conversation: Conversation) -> None:
    """An experiment that cannot fail would prove nothing."""
    address = f"json:{tmp_path}"
    store = stores.open(address)
    messages = [*turn("a"), turn("b")[0], *turn("c"), turn("b")[1], *turn("c")]
    store.append(conversation, messages, 0)
    found = faults.examined(address, conversation, ["a", "b", "c", "d"])
    assert found == faults.Found(acknowledged=4, lost=2, torn=2, twice=1)


# -- a write that fails ----------------------------------------------------------------------------------


@contextmanager
def no_room(file_bytes: int) -> Iterator[None]:
    """No file of this process may grow beyond a size: writing further fails as on a full disk."""
    old, handler = resource.getrlimit(resource.RLIMIT_FSIZE), signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (file_bytes, old[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, old)
        signal.signal(signal.SIGXFSZ, handler)


@of_files
def test_a_full_disk_costs_no_turn_and_the_store_goes_on(open_store: OpenStore, conversation: Conversation) -> None:
    store = open_store()
    version = store.append(conversation, turn("a"), 0)
    large = [{"role": "user", "content": "x" * 3_000_000}]
    with no_room(1_000_000), pytest.raises(StoreError) as caught:
        store.append(conversation, large, version)
    assert "\n" not in str(caught.value)
    assert open_store().load(conversation) == (turn("a"), {}, version)
    version = store.append(conversation, large, version)
    assert open_store().load(conversation) == ([*turn("a"), *large], {}, version)


@contextmanager
def refusing(engine: str, address: str) -> Iterator[None]:
    """A server that answers, and takes no more data."""
    if engine == "redis":
        with closing(redis.Redis.from_url(address)) as client:
            client.config_set("maxmemory", 1)
            try:
                yield
            finally:
                client.config_set("maxmemory", 0)
    elif engine == "postgres":
        setting = "ALTER DATABASE postgres {} default_transaction_read_only {}"
        with psycopg.connect(address, autocommit=True) as connection:
            connection.execute(setting.format("SET", "= on"))
            try:
                yield
            finally:
                connection.execute("SET default_transaction_read_only = off")
                connection.execute(setting.format("RESET", ""))


@pytest.mark.parametrize("engine", ["redis", "postgres"])
def test_a_server_that_refuses_to_write_is_no_server_that_is_down(
    engine: str, place: places.Place, open_store: OpenStore, conversation: Conversation
) -> None:
    store = open_store()
    version = store.append(conversation, turn("a"), 0)
    with refusing(engine, place.address):
        again = open_store()  # a connection that knows the setting
        with pytest.raises(StoreError) as caught:
            again.append(conversation, turn("b"), version)
    assert not isinstance(caught.value, StoreDown)
    assert "cannot be used" in str(caught.value)
    assert "\n" not in str(caught.value)
    assert open_store().load(conversation) == (turn("a"), {}, version)
    open_store().append(conversation, turn("b"), version)
    assert open_store().load(conversation)[0] == [*turn("a"), *turn("b")]


def test_an_append_beyond_what_an_engine_takes_leaves_the_store_as_it_was(
    store: Store, conversation: Conversation
) -> None:
    """MongoDB takes 16 MB at once; who takes more may."""
    version = store.append(conversation, turn("a"), 0)
    try:
        store.append(conversation, [{"role": "user", "content": "x" * 17_000_000}], version)
    except StoreError as error:
        assert "\n" not in str(error)
        assert store.load(conversation) == (turn("a"), {}, version)
    add(store, conversation, "b")
    assert store.load(conversation, last=2)[0] == turn("b")


# -- damage ----------------------------------------------------------------------------------------------


def damaged_json(whole: bytes) -> list[bytes]:
    return [b"", b"\x00" * len(whole), whole[: len(whole) // 2], b"[]", b"{}", b"null", b"[" * 100_000, b"\xff\xfe"]


@pytest.mark.parametrize("case", range(len(damaged_json(b""))))
def test_a_damaged_json_file_is_named_and_left_as_it_is(tmp_path: Path, conversation: Conversation, case: int) -> None:
    store = stores.open(f"json:{tmp_path}")
    version = store.append(conversation, turn("a"), 0)
    other = (*conversation[:2], "other")
    store.append(other, turn("b"), 0)
    kept = {file for file in tmp_path.rglob("*.json") if b"a user" in file.read_bytes()}
    (file,) = kept
    damage = damaged_json(file.read_bytes())[case]
    file.write_bytes(damage)
    with pytest.raises(StoreDamaged, match=file.name):
        store.load(conversation)
    with pytest.raises(StoreDamaged, match=file.name):
        store.append(conversation, turn("c"), version)
    assert file.read_bytes() == damage
    assert store.load(other)[0] == turn("b")
    assert store.delete(conversation) is True
    assert store.load(conversation) == ([], {}, 0)


@pytest.mark.parametrize("damage", [b"no database".ljust(4096, b"."), b"SQLite format 3\x00" + b"\xff" * 5000])
def test_a_damaged_database_is_named_and_left_as_it_is(
    tmp_path: Path, conversation: Conversation, damage: bytes
) -> None:
    file = tmp_path / "chat.db"
    file.write_bytes(damage)
    store = stores.open(f"sqlite:{file}")
    with pytest.raises(StoreError, match=r"chat\.db"):
        store.load(conversation)
    with pytest.raises(StoreError, match=r"chat\.db"):
        store.append(conversation, turn("a"), 0)
    assert file.read_bytes() == damage


def test_another_programs_database_is_not_taken_for_ours(tmp_path: Path, conversation: Conversation) -> None:
    file = tmp_path / "shop.db"
    with closing(sqlite3.connect(file)) as connection, connection:
        connection.execute("CREATE TABLE messages (title TEXT)")
        connection.execute("INSERT INTO messages VALUES ('keep me')")
    with pytest.raises(StoreError, match=r"shop\.db"):
        stores.open(f"sqlite:{file}").append(conversation, turn("a"), 0)
    with closing(sqlite3.connect(file)) as connection:
        assert connection.execute("SELECT * FROM messages").fetchall() == [("keep me",)]


# -- servers that are away -------------------------------------------------------------------------------

PASSWORD = "s3cret-of-somebody"


def with_password(address: str, port: int | None = None) -> str:
    """The same address, of a user with a password, perhaps at another port."""
    parts = urlsplit(address)
    return urlunsplit(parts._replace(netloc=f"somebody:{PASSWORD}@{parts.hostname}:{port or parts.port}"))


def quickly(engine: str, address: str) -> str:
    """MongoDB's client waits for a server to come back, as long as it is told to."""
    return f"{address}?serverSelectionTimeoutMS=300" if engine == places.MONGO else address


@of_servers
def test_a_server_that_is_away_is_said_in_one_line_without_the_password(
    engine: str, place: places.Place, conversation: Conversation
) -> None:
    port = servers._free_port()
    store = stores.open(quickly(engine, with_password(place.address, port)))
    for work in (
        lambda: store.load(conversation),
        lambda: store.append(conversation, turn("a"), 0),
        lambda: store.delete(conversation),
        lambda: store.delete_user(*conversation[:2]),
    ):
        with pytest.raises(StoreDown) as caught:
            work()
        said = str(caught.value)
        assert str(port) in said
        assert "does not answer" in said
        assert PASSWORD not in said
        assert "\n" not in said


@of_killed
def test_a_store_finds_its_server_again(engine: str, tmp_path: Path, conversation: Conversation) -> None:
    with places.opened(engine, tmp_path) as place:
        store = stores.open(quickly(engine, place.address))
        version = store.append(conversation, turn("a"), 0)
        place.kill()
        with pytest.raises(StoreDown):
            store.load(conversation)
        with pytest.raises(StoreDown):
            store.append(conversation, turn("b"), version)
        place.start()
        assert store.load(conversation) == (turn("a"), {}, version)
        store.append(conversation, turn("b"), version)
        assert store.load(conversation)[0] == [*turn("a"), *turn("b")]
        store.close()


# -- addresses -------------------------------------------------------------------------------------------


#: What may follow a password; a "/" in one ends the part of the address that it stands in.
RESTS = ("@", "@127.0.0.1:port/0", "@127.0.0.1:99999/0", "/@127.0.0.1:1/0", "/1@127.0.0.1:1/0", "@[::1/0", ":@:@/")
OPTION = "@127.0.0.1:1/0?no_such_option=1"
SCHEMES = ("redis", "rediss", "postgresql", "mongodb", "mongodb+srv")


@pytest.mark.filterwarnings("ignore:Unknown option")
@pytest.mark.parametrize(
    "address", [f"{scheme}://localhost:{PASSWORD}{rest}" for scheme in SCHEMES for rest in (*RESTS, OPTION)]
)
def test_an_address_with_a_fault_is_refused_without_the_password(address: str, conversation: Conversation) -> None:
    address = quickly(places.MONGO, address) if address.startswith("mongodb:") and "?" not in address else address
    with pytest.raises(StoreError) as caught:
        stores.open(address).load(conversation)
    assert PASSWORD not in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("address", ["json", "json:", "sqlite", "sqlite:", "sqlite::memory:", "redis:", "mongodb"])
def test_an_address_says_where(address: str) -> None:
    with pytest.raises(StoreError):
        stores.open(address)


@pytest.mark.parametrize("address", ["", "no-scheme", "mysql://host/db", "/tmp/chat.db", "C:\\chat.db"])
def test_an_address_of_no_engine_is_told_which_there_are(address: str) -> None:
    with pytest.raises(StoreError, match=r"sqlite.*redis.*mongodb"):
        stores.open(address)


# -- fixtures --------------------------------------------------------------------------------------------


@pytest.fixture
def new_place(engine: str, place: places.Place) -> Iterator[places.Place]:
    """A place in which no store has ever been opened."""
    name = f"memory_tutor_{secrets.token_hex(6)}"
    there = places.Elsewhere(urlunsplit(urlsplit(place.address)._replace(path=f"/{name}")))
    if engine == "postgres":
        with psycopg.connect(place.address, autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {name}")
            yield there
            connection.execute(f"DROP DATABASE {name} WITH (FORCE)")
    elif engine == places.MONGO:
        yield there
        with pymongo.MongoClient[dict[str, object]](place.address) as client:
            client.drop_database(name)
    else:
        yield place  # files are new for each test, and Redis has no tables to make
