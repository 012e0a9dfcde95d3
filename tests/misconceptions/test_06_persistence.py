"""Answers to lesson 6: what must pass, and what must not, each with the message that names its mistake."""

from __future__ import annotations

import sys

from answers import *  # noqa: F403

#: Cells of the lesson that answers build on.
GIVEN = ["given-schema", "given-connect", "given-prompt"]

CREATE = "client.chat.completions.create"

CHECK_ID = """
def check_id(session_id):
    if not isinstance(session_id, str):
        raise TypeError(f"an id must be a str, not {type(session_id).__name__}")
    if not session_id:
        raise ValueError("an id must not be empty")
"""
#: What most answers have in common.
TOP = (
    """
import hashlib, json, os, tempfile, uuid
from pathlib import Path
"""
    + CHECK_ID
    + """
def path_of(folder, session_id):
    check_id(session_id)
    return Path(folder) / f"{hashlib.sha256(session_id.encode()).hexdigest()}.json"

def write(path, text):
    new = path.with_suffix(".new")
    with open(new, "w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    os.replace(new, path)
"""
)


def _indented(body: str) -> str:
    return "\n".join(f"    {line}" for line in body.strip("\n").splitlines())


def saving(body: str, top: str = TOP) -> str:
    """An answer to save_session: `top`, and a function of these lines."""
    return f"{top}\ndef save_session(folder, session_id, session):\n{_indented(body)}\n"


def saving_as(name: str) -> str:
    """An answer whose file has the name that an expression gives."""
    return saving(f"check_id(session_id)\nwrite(Path(folder) / {name}, json.dumps(session))")


SAVE = saving("write(path_of(folder, session_id), json.dumps(session))")


def loading(body: str, top: str = SAVE) -> str:
    """An answer to load_session, with a save_session before it: `top`, and a function of these lines."""
    return f"{top}\ndef load_session(folder, session_id):\n{_indented(body)}\n"


STORE = """
class SqliteStore:
    def __init__(self, path):
        self.path = path

    def load(self, conversation, last=None):
        key = self.key(conversation)
        with closing(connect(self.path)) as connection, connection:
            connection.execute("BEGIN")
            version, pad = self.state(connection, key)
            limit = -1 if last is None else last
            query = f"SELECT message FROM messages WHERE {WHERE} ORDER BY seq DESC LIMIT ?"
            rows = connection.execute(query, [*key, limit]).fetchall()
        messages = [json.loads(message) for (message,) in rows]
        return messages[::-1], json.loads(pad), version

    def append(self, conversation, messages, version, pad=None):
        key = self.key(conversation)
        rows = [(*key, json.dumps(message)) for message in messages]
        with closing(connect(self.path)) as connection, connection:
            connection.execute("BEGIN IMMEDIATE")
            newest, old_pad = self.state(connection, key)
            if version != newest:
                raise Conflict()
            new_pad = old_pad if pad is None else json.dumps(pad)
            state = (*key, newest + 1, new_pad)
            connection.execute("INSERT OR REPLACE INTO conversations VALUES (?, ?, ?, ?, ?)", state)
            insert = "INSERT INTO messages (tenant, user, session, message) VALUES (?, ?, ?, ?)"
            connection.executemany(insert, rows)
        return newest + 1

    def key(self, conversation):
        tenant, user, session = conversation
        for id_ in (tenant, user, session):
            if not isinstance(id_, str):
                raise TypeError("an id must be a str")
            if not id_:
                raise ValueError("an id must not be empty")
        return tenant, user, session

    def state(self, connection, key):
        query = f"SELECT version, pad FROM conversations WHERE {WHERE}"
        return connection.execute(query, key).fetchone() or (0, "{}")
"""

KEPT_OPEN = """
class SqliteStore:
    def __init__(self, path):
        self.connection = connect(path)

    def load(self, conversation, last=None):
        key = check(*conversation)
        row = self.connection.execute(f"SELECT version, pad FROM conversations WHERE {WHERE}", key).fetchone()
        if row is None:
            return [], {}, 0
        rows = self.connection.execute(f"SELECT message FROM messages WHERE {WHERE} ORDER BY seq", key)
        messages = [json.loads(row[0]) for row in rows]
        if last is not None:
            messages = messages[len(messages) - last if last < len(messages) else 0:]
        return messages, json.loads(row[1]), row[0]

    def append(self, conversation, messages, version, pad=None):
        key = check(*conversation)
        with self.connection:
            self.connection.execute("BEGIN IMMEDIATE")
            if version == 0:
                self.connection.execute("INSERT OR IGNORE INTO conversations VALUES (?, ?, ?, 0, '{}')", key)
            update = f"UPDATE conversations SET version = version + 1 WHERE {WHERE} AND version = ?"
            if self.connection.execute(update, (*key, version)).rowcount == 0:
                raise Conflict("stale")
            if pad is not None:
                self.connection.execute(f"UPDATE conversations SET pad = ? WHERE {WHERE}", (json.dumps(pad), *key))
            for message in messages:
                row = (*key, json.dumps(message, ensure_ascii=True))
                insert = "INSERT INTO messages (tenant, user, session, message) VALUES (?, ?, ?, ?)"
                self.connection.execute(insert, row)
        return version + 1


def check(tenant, user, session):
    for part in (tenant, user, session):
        if type(part) is not str:
            raise TypeError(part)
        if part == "":
            raise ValueError("empty")
    return tenant, user, session
"""

OWN_TABLES = """
class SqliteStore:
    def __init__(self, path):
        self.path = path
        with closing(sqlite3.connect(path)) as db:
            columns = "key TEXT, seq INTEGER, kind TEXT, text TEXT, PRIMARY KEY (key, seq)"
            db.execute(f"CREATE TABLE IF NOT EXISTS log ({columns})")

    def load(self, conversation, last=None):
        with closing(sqlite3.connect(self.path)) as db:
            query = "SELECT seq, kind, text FROM log WHERE key = ? ORDER BY seq"
            rows = db.execute(query, [self._key(conversation)]).fetchall()
        messages = [json.loads(text) for _, kind, text in rows if kind == "message"]
        pads = [json.loads(text) for _, kind, text in rows if kind == "pad"]
        if last is not None:
            messages = messages[-last:] if last else []
        return messages, (pads[-1] if pads else {}), (rows[-1][0] if rows else 0)

    def append(self, conversation, messages, version, pad=None):
        new = [("message", json.dumps(each)) for each in messages] + ([] if pad is None else [("pad", json.dumps(pad))])
        key = self._key(conversation)
        with closing(sqlite3.connect(self.path, isolation_level=None, timeout=30)) as db, db:
            db.execute("BEGIN IMMEDIATE")
            newest = db.execute("SELECT MAX(seq) FROM log WHERE key = ?", [key]).fetchone()[0] or 0
            if newest != version:
                raise Conflict
            for seq, (kind, text) in enumerate(new, start=version + 1):
                db.execute("INSERT INTO log VALUES (?, ?, ?, ?)", (key, seq, kind, text))
        return version + len(new)

    def _key(self, conversation):
        if not all(isinstance(part, str) for part in conversation):
            raise TypeError("ids are texts")
        if not all(conversation):
            raise ValueError("ids are not empty")
        return json.dumps(list(conversation))
"""

#: Not compared: the numbers of its rows would be taken.
PRIMARY_KEY = """
class SqliteStore:
    def __init__(self, path):
        self.path = path
        with closing(sqlite3.connect(path)) as db, db:
            columns = "tenant TEXT, user TEXT, session TEXT, seq INTEGER, kind TEXT, text TEXT"
            db.execute(f"CREATE TABLE IF NOT EXISTS log ({columns}, PRIMARY KEY (tenant, user, session, seq))")

    def load(self, conversation, last=None):
        key = self.key(*conversation)
        with closing(sqlite3.connect(self.path)) as db:
            rows = db.execute(f"SELECT seq, kind, text FROM log WHERE {WHERE} ORDER BY seq", key).fetchall()
        messages = [json.loads(text) for _, kind, text in rows if kind == "message"]
        pad = next((json.loads(text) for _, kind, text in reversed(rows) if kind == "pad"), {})
        return messages[max(0, len(messages) - last) if last is not None else 0:], pad, len(rows)

    def append(self, conversation, messages, version, pad=None):
        key = self.key(*conversation)
        new = [("message", json.dumps(each)) for each in messages]
        if pad is not None:
            new.append(("pad", json.dumps(pad)))
        try:
            with closing(sqlite3.connect(self.path)) as db, db:
                for seq, (kind, text) in enumerate(new, start=version):
                    db.execute("INSERT INTO log VALUES (?, ?, ?, ?, ?, ?)", (*key, seq, kind, text))
                count = f"SELECT count(*) FROM log WHERE {WHERE}"
                if db.execute(count, key).fetchone()[0] != version + len(new):
                    raise Conflict("a gap: nobody has got this version yet")
        except sqlite3.IntegrityError as error:
            raise Conflict("somebody was faster") from error
        return version + len(new)

    def key(self, *ids):
        for id_ in ids:
            if not isinstance(id_, str):
                raise TypeError("an id is a text")
            if not id_:
                raise ValueError("an id is not empty")
        return ids
"""

BLOB = """
class SqliteStore(Base):
    def load(self, conversation, last=None):
        messages, pad, version = self.whole(self.key(conversation))
        return (messages if last is None else messages[max(0, len(messages) - last):]), pad, version

    def whole(self, key):
        with closing(connect(self.path)) as connection:
            version, text = self.state(connection, key)
        blob = json.loads(text)
        return blob.get("messages", []), blob.get("pad", {}), version

    def append(self, conversation, messages, version, pad=None):
        key = self.key(conversation)
        old, old_pad, newest = self.whole(key)
        if newest != version:
            raise Conflict
        blob = json.dumps({"messages": old + messages, "pad": old_pad if pad is None else pad})
        with closing(connect(self.path)) as connection:
            connection.execute("INSERT OR REPLACE INTO conversations VALUES (?, ?, ?, ?, ?)", (*key, version + 1, blob))
        return version + 1
"""

IN_MEMORY = """
class SqliteStore:
    def __init__(self, path):
        self.kept = {}
    def load(self, conversation, last=None):
        messages, pad, version = self.kept.get(conversation, ([], {}, 0))
        return (messages if last is None else messages[max(0, len(messages) - last):]), pad, version
    def append(self, conversation, messages, version, pad=None):
        old, old_pad, newest = self.load(conversation)
        if version != newest:
            raise Conflict
        self.kept[conversation] = (old + messages, old_pad if pad is None else pad, version + 1)
        return version + 1
"""


def changed(source: str, *replacements: tuple[str, str]) -> str:
    """A right answer with something wrong in it."""
    for old, new in replacements:
        assert source.count(old) == 1, old
        source = source.replace(old, new)
    return source


TURN = f"""
def chat_turn(store, conversation, text):
    question = {{"role": "user", "content": text}}
    for attempt in range(1, 4):
        history, pad, version = store.load(conversation, last=WINDOW)
        messages = [{{"role": "system", "content": SYSTEM_PROMPT}}, *history, question]
        response = {CREATE}(model=model, messages=messages)
        reply = response.choices[0].message.content or ""
        answer = {{"role": "assistant", "content": reply}}
        try:
            store.append(conversation, [question, answer], version)
        except Conflict:
            if attempt == 3:
                raise
        else:
            return reply
"""


RIGHT = {
    "save_session": [
        ("text first, one fixed name beside it", SAVE),
        (
            "a temporary file of its own, removed when writing fails",
            saving("""
path = path_of(folder, session_id)
number, name = tempfile.mkstemp(dir=folder, suffix=".tmp")
try:
    with os.fdopen(number, "wb") as file:
        file.write(json.dumps(session, ensure_ascii=False, indent=2).encode("utf-8"))
    Path(name).replace(path)
except BaseException:
    os.unlink(name)
    raise
"""),
        ),
        (
            "dump into a temporary file",
            saving("""
path = path_of(folder, session_id)
new = path.parent / f".{path.name}"
try:
    with new.open("w", encoding="utf-8") as file:
        json.dump(session, file, ensure_ascii=False)
    new.rename(path) if os.name != "nt" else new.replace(path)
finally:
    new.unlink(missing_ok=True)
"""),
        ),
        (
            "a uuid of the id, and half an emoji as it is",
            saving("""
check_id(session_id)
path = Path(folder, str(uuid.uuid5(uuid.NAMESPACE_URL, session_id)))
data = json.dumps(session, ensure_ascii=False).encode("utf-8", "surrogatepass")
with tempfile.NamedTemporaryFile(dir=folder, delete=False) as file:
    file.write(data)
os.replace(file.name, path)
"""),
        ),
        (
            "a folder of files for each letter",
            saving("""
check_id(session_id)
name = hashlib.blake2b(session_id.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()
path = os.path.join(folder, name[:1], name)
os.makedirs(os.path.dirname(path), exist_ok=True)
text = json.dumps(session, sort_keys=True)
with open(path + "~", "w", encoding="utf-8", errors="backslashreplace") as file:
    file.write(text)
os.replace(path + "~", path)
"""),
        ),
        (
            "a temporary folder in the folder",
            saving("""
path = path_of(folder, session_id)
with tempfile.TemporaryDirectory(dir=folder) as temporary:
    new = Path(temporary) / "new"
    new.write_text(json.dumps(session), encoding="utf-8")
    new.replace(path)
"""),
        ),
        (
            "a folder for what is not yet whole",
            saving("""
path = path_of(folder, session_id)
new = Path(folder, "unfinished", path.name)
new.parent.mkdir(exist_ok=True)
text = json.dumps(session)
new.write_text(text, encoding="utf-8")
new.replace(path)
"""),
        ),
        (
            "a class behind it",
            saving(
                "Sessions(folder).write(session_id, session)",
                TOP
                + """
class Sessions:
    def __init__(self, folder):
        self.folder = folder

    def write(self, session_id, session):
        write(path_of(self.folder, session_id), json.dumps(session, separators=(",", ":")))
""",
            ),
        ),
    ],
    "load_session": [
        (
            "try, and a list is no session",
            loading("""
path = path_of(folder, session_id)
try:
    session = json.loads(path.read_text(encoding="utf-8"))
except FileNotFoundError:
    return None
except ValueError as error:
    raise ValueError(f"{path} is damaged: {error}") from error
if not isinstance(session, dict):
    raise ValueError(f"{path} is damaged: it holds no dict")
return session
"""),
        ),
        (
            "look first, and read bytes",
            loading("""
path = path_of(folder, session_id)
if not path.exists():
    return None
try:
    session = json.loads(path.read_bytes())
    if type(session) is not dict:
        raise TypeError(type(session).__name__)
except (ValueError, TypeError) as error:
    raise ValueError("cannot read " + path.name) from error
return session
"""),
        ),
        (
            "an error of its own",
            loading(
                """
path = path_of(folder, session_id)
try:
    with open(path, encoding="utf-8") as file:
        session = json.load(file)
    session["messages"]
except FileNotFoundError:
    return None
except (ValueError, TypeError, KeyError) as error:
    raise DamagedSession(path, "mend it, or move it away") from error
return session
""",
                SAVE + "\nclass DamagedSession(ValueError):\n    pass\n",
            ),
        ),
        (
            "half an emoji as it is",
            loading(
                """
path = path_of(folder, session_id)
if path.name not in os.listdir(folder):
    return None
data = path.read_bytes()
try:
    return dict(json.loads(data.decode("utf-8", "surrogatepass")).items())
except (UnicodeDecodeError, json.JSONDecodeError, AttributeError) as error:
    raise ValueError(f"session {session_id[:40]!r}: {path.stem} is damaged") from None
""",
                saving("""
path = path_of(folder, session_id)
path.with_suffix(".new").write_bytes(json.dumps(session, ensure_ascii=False).encode("utf-8", "surrogatepass"))
os.replace(path.with_suffix(".new"), path)
"""),
            ),
        ),
        (
            "half an emoji refused by the first function",
            loading(
                """
path = path_of(folder, session_id)
for found in Path(folder).iterdir():
    if found == path:
        text = found.read_bytes()
        break
else:
    return None
try:
    session = json.loads(str(text, "utf-8"))
    assert isinstance(session, dict)
except Exception as error:
    raise ValueError(str(path)) from error
else:
    return session
""",
                saving("""
text = json.dumps(session, ensure_ascii=False)
text.encode("utf-8")
write(path_of(folder, session_id), text)
"""),
            ),
        ),
    ],
    "SqliteStore": [
        ("a connection for each call", STORE),
        ("one connection kept open, and the version in the UPDATE", KEPT_OPEN),
        ("tables of one's own, the ids as JSON", OWN_TABLES),
        ("the primary key notices", PRIMARY_KEY),
        (
            "the newest by a sub-query",
            changed(
                STORE,
                (
                    'query = f"SELECT message FROM messages WHERE {WHERE} ORDER BY seq DESC LIMIT ?"',
                    'query = f"SELECT message FROM (SELECT * FROM messages WHERE {WHERE} ORDER BY seq DESC LIMIT ?) '
                    'ORDER BY seq"',
                ),
                ("messages[::-1]", "messages"),
            ),
        ),
    ],
    "chat_turn": [
        ("a loop that counts", TURN),
        (
            "all loaded and cut here, and the last attempt outside the loop",
            f"""
            def chat_turn(store, conversation, text):
                def attempt():
                    past, pad, version = store.load(conversation)
                    system, question = dict(role="system", content=SYSTEM_PROMPT), dict(role="user", content=text)
                    sent = [system] + past[-WINDOW:] + [question]
                    message = {CREATE}(model=model, messages=sent, user="ada").choices[0].message
                    reply = "" if message.content is None else message.content
                    store.append(conversation, [sent[-1], dict(role="assistant", content=reply)], version, pad=pad)
                    return reply
                for _ in range(2):
                    try:
                        return attempt()
                    except Conflict:
                        pass
                return attempt()
            """,
        ),
        (
            "a function that calls itself",
            f"""
            def chat_turn(store, conversation, text, left=3):
                messages, _, version = store.load(conversation, WINDOW)
                question = {{"role": "user", "content": text}}
                asked = [{{"role": "system", "content": SYSTEM_PROMPT}}] + messages + [question]
                reply = {CREATE}(model=model, messages=asked).choices[0].message.content or ""
                try:
                    store.append(conversation, [question, {{"role": "assistant", "content": reply}}], version, None)
                except Conflict:
                    if left == 1:
                        raise
                    return chat_turn(store, conversation, text, left - 1)
                return reply
            """,
        ),
        (
            "a while loop, and a moment's rest",
            f"""
            import time

            def chat_turn(store, conversation, text):
                failures = 0
                while True:
                    history, pad, version = store.load(conversation, last=WINDOW)
                    history.insert(0, {{"role": "system", "content": SYSTEM_PROMPT}})
                    history.append({{"role": "user", "content": text}})
                    reply = {CREATE}(model=model, messages=history).choices[0].message.content or ""
                    try:
                        store.append(conversation, [history[-1], {{"role": "assistant", "content": reply}}], version)
                        return reply
                    except Conflict as conflict:
                        failures += 1
                        if failures == 3:
                            raise conflict
                        time.sleep(0.01)
            """,
        ),
    ],
}

BY_HASH = "after the `hash` of the id"
PARSE = 'return json.loads(path.read_text(encoding="utf-8"))'
WRITE = "write(path_of(folder, session_id), json.dumps(session))"
#: The beginning of an answer that does right when nothing is there; and the natural way to read, with its error.
PATH = """
path = path_of(folder, session_id)
if not path.exists():
    return None
"""
READ = """
try:
    session = json.loads(path.read_text(encoding="utf-8"))
except ValueError as error:
    raise ValueError(f"{path} is damaged") from error
"""
LOAD = PATH + READ + "return session"

WRONG = {
    "save_session": [
        (
            "straight into the file",
            saving('path_of(folder, session_id).write_text(json.dumps(session), encoding="utf-8")'),
            "wrote into the old file",
        ),
        (
            "the old file is moved aside, and stays there",
            saving("""
path = path_of(folder, session_id)
if path.exists():
    os.replace(path, path.with_suffix(".bak"))
write(path, json.dumps(session))
"""),
            "left another file behind",
        ),
        (
            "no text first: a half-written file is left",
            saving("""
path = path_of(folder, session_id)
with open(path.with_suffix(".new"), "w", encoding="utf-8") as file:
    json.dump(session, file)
os.replace(path.with_suffix(".new"), path)
"""),
            "Half-written files look like sessions",
        ),
        (
            "a half-written file takes the name",
            saving("""
path = path_of(folder, session_id)
file = open(path.with_suffix(".new"), "w", encoding="utf-8")
try:
    json.dump(session, file)
finally:
    file.close()
    os.replace(path.with_suffix(".new"), path)
"""),
            "failed, and its old file, of",
        ),
        (
            "the temporary file is copied, and left",
            saving("""
import shutil
path = path_of(folder, session_id)
path.with_suffix(".tmp").write_text(json.dumps(session), encoding="utf-8")
shutil.copy(path.with_suffix(".tmp"), path)
"""),
            "left 2 files: ",
        ),
        (
            "the temporary file is left outside the folder",
            saving("""
import shutil
path = path_of(folder, session_id)
new = Path(folder).parent / "session.tmp"
new.write_text(json.dumps(session), encoding="utf-8")
shutil.copy(new, path.with_suffix(".new"))
os.replace(path.with_suffix(".new"), path)
"""),
            "wrote `home/session.tmp`, and left it so, outside the folder",
        ),
        (
            "the folder's path and the name are joined without a slash",
            saving('write(Path(folder + path_of("", session_id).name), json.dumps(session))'),
            "outside the folder that it was given",
        ),
        (
            "in a variable",
            saving("check_id(session_id)\nsessions[folder, session_id] = session", TOP + "\nsessions = {}\n"),
            "and the folder was empty",
        ),
        ("the id as a path", saving_as('f"{session_id}.json"'), "'../ada' as id wrote `home/ada.json`, outside"),
        (
            "the id as a path, climbing refused",
            saving("""
check_id(session_id)
path = Path(folder) / f"{session_id}.json"
if Path(folder) not in path.resolve().parents:
    raise ValueError("no such id")
write(path, json.dumps(session))
"""),
            "with '../ada' raised ValueError: no such id",
        ),
        (
            "slashes replaced",
            saving_as("""(session_id.replace("/", "_") if len(session_id) < 50 else path_of("", session_id).name)"""),
            "'team/ada' and 'team_ada' have one file",
        ),
        (
            "characters that are no letters left out",
            saving("""
write(path_of(folder, "".join(c for c in session_id if c.isalnum() or c == "_") or "-"), json.dumps(session))
"""),
            "'../ada' and '../../ada' have one file",
        ),
        ("quoted", saving_as("""__import__("urllib.parse").parse.quote(session_id, safe="")"""), "File name too long"),
        (
            "quoted where it is short",
            saving("""
from urllib.parse import quote
check_id(session_id)
name = quote(session_id, safe="") if len(session_id) < 50 else path_of("", session_id).name
write(Path(folder) / f"_{name}.json", json.dumps(session))
"""),
            "'Ada' and 'ada' have files whose names many disks take for one",
        ),
        (
            "lower-cased",
            saving_as("""hashlib.sha256(session_id.lower().encode()).hexdigest()"""),
            "'Ada' and 'ada' have one file",
        ),
        (
            "cut off",
            saving_as("""hashlib.sha256(session_id[:255].encode()).hexdigest()"""),
            "an id of 10,000 characters and another one have one file",
        ),
        (
            "normalised",
            saving("""
from unicodedata import normalize
write(path_of(folder, normalize("NFKC", session_id)), json.dumps(session))
"""),
            "have one file",
        ),
        (
            "backslashes replaced",
            saving("""
write(path_of(folder, session_id.replace(chr(92), ":")), json.dumps(session))
"""),
            "have one file",
        ),
        ("hash", saving_as("""f"{hash(session_id)}.json\""""), BY_HASH),
        ("hash, in hexadecimal", saving_as("""f"{hash(session_id) & 0xFFFFFFFFFFFFFFFF:016x}\""""), BY_HASH),
        ("a new name each time", saving_as("""f"{uuid.uuid4().hex}.json\""""), "wrote another file beside the first"),
        (
            "the names in a variable",
            saving(
                """
check_id(session_id)
name = names.setdefault((folder, session_id), str(len(names)))
write(Path(folder) / name, json.dumps(session))
""",
                TOP + "\nnames = {}\n",
            ),
            "After a restart, `save_session` with 'ada' wrote another file",
        ),
        (
            "an old file of this name is taken away",
            saving("""
check_id(session_id)
for old in Path(folder).iterdir():
    old.unlink()
write(Path(folder) / uuid.uuid4().hex, json.dumps(session))
"""),
            "left one file, but of another name",
        ),
        (
            "ASCII, what does not fit is left out",
            saving("""
path = path_of(folder, session_id)
data = json.dumps(session, ensure_ascii=False).encode("ascii", errors="ignore")
path.with_suffix(".new").write_bytes(data)
os.replace(path.with_suffix(".new"), path)
"""),
            "the file has 'Ich heie Zo.  '",
        ),
        (
            "ASCII, with question marks",
            saving("""
path = path_of(folder, session_id)
path.with_suffix(".new").write_text(json.dumps(session, ensure_ascii=False), encoding="ascii", errors="replace")
os.replace(path.with_suffix(".new"), path)
"""),
            "the file has 'Ich hei?e Zo?",
        ),
        (
            "half an emoji left out",
            saving("""
path = path_of(folder, session_id)
data = json.dumps(session, ensure_ascii=False).encode("utf-8", errors="ignore")
path.with_suffix(".new").write_bytes(data)
os.replace(path.with_suffix(".new"), path)
"""),
            "half an emoji in the session, the file has 'Half an emoji: ' for",
        ),
        (
            "half an emoji, and a half-written file",
            saving("""
path = path_of(folder, session_id)
text = json.dumps(session, ensure_ascii=False)
path.with_suffix(".new").write_text(text, encoding="utf-8")
os.replace(path.with_suffix(".new"), path)
"""),
            "half an emoji in the session failed, and left",
        ),
        (
            "the encoding of an old machine",
            saving("""
path = path_of(folder, session_id)
path.with_suffix(".new").write_text(json.dumps(session, ensure_ascii=False), encoding="cp1252")
os.replace(path.with_suffix(".new"), path)
"""),
            "raised UnicodeEncodeError",
        ),
        (
            "UTF-16",
            saving("""
path = path_of(folder, session_id)
path.with_suffix(".new").write_text(json.dumps(session), encoding="utf-16")
os.replace(path.with_suffix(".new"), path)
"""),
            "the bytes of the file were not UTF-8",
        ),
        ("repr", saving("write(path_of(folder, session_id), repr(session))"), "the file held no JSON"),
        ("twice JSON", saving("write(path_of(folder, session_id), json.dumps(json.dumps(session)))"), "in a JSON text"),
        (
            "the messages alone",
            saving('write(path_of(folder, session_id), json.dumps({"messages": session["messages"]}))'),
            "no 'scratchpad' in it",
        ),
        (
            "the list of messages",
            saving('write(path_of(folder, session_id), json.dumps(session["messages"]))'),
            "the file has [{",
        ),
        (
            "with the id in it",
            saving('write(path_of(folder, session_id), json.dumps({"id": session_id, **session}))'),
            "has 'id' in it, which nobody gave",
        ),
        (
            "not closed",
            saving(
                """
path = path_of(folder, session_id)
file = open(path.with_suffix(".new"), "w", encoding="utf-8")
json.dump(session, file)
os.replace(path.with_suffix(".new"), path)
open_files.append(file)
""",
                TOP + "\nopen_files = []\n",
            ),
            "the file was empty",
        ),
        (
            "what is no JSON, by default=str",
            saving("write(path_of(folder, session_id), json.dumps(session, default=str))"),
            "with an object of the SDK in the session raised nothing",
        ),
        (
            "errors swallowed",
            saving("""
check_id(session_id)
try:
    write(path_of(folder, session_id), json.dumps(session))
except Exception as error:
    print("not saved:", error)
"""),
            "saved nothing, and raised nothing",
        ),
        ("returns the path", saving(WRITE + "\nreturn str(path_of(folder, session_id))"), "returned a str"),
        ("returns a Path", saving(WRITE + "\nreturn path_of(folder, session_id)"), "returned a PosixPath"),
        (
            "ids not looked at",
            saving("""
name = hashlib.sha256(f"{session_id}".encode()).hexdigest()
write(Path(folder) / name, json.dumps(session))
"""),
            "with '' as id raised nothing",
        ),
        (
            "ids made texts",
            saving("""
if session_id == "":
    raise ValueError("empty")
write(path_of(folder, str(session_id)), json.dumps(session))
"""),
            "with 7 as id raised nothing",
        ),
        (
            "ids not looked at, but encoded",
            saving("""
name = hashlib.sha256(session_id.encode()).hexdigest()
if not session_id:
    raise ValueError("empty")
write(Path(folder) / name, json.dumps(session))
"""),
            "with 7 as id raised AttributeError",
        ),
        (
            "one error for all",
            saving("""
if not isinstance(session_id, str) or not session_id:
    raise ValueError("no id")
write(path_of(folder, session_id), json.dumps(session))
"""),
            "with 7 as id raised ValueError: no id",
        ),
        (
            "an assertion",
            saving('assert session_id, "an id must not be empty"\n' + WRITE),
            "with '' as id raised AssertionError",
        ),
        (
            "looked at too late",
            saving("""
write(Path(folder) / hashlib.sha256(str(session_id).encode()).hexdigest(), json.dumps(session))
check_id(session_id)
"""),
            "raised ValueError, and left",
        ),
        (
            "a symbolic link",
            saving("""
path = path_of(folder, session_id)
os.symlink("nowhere", path)
"""),
            "what is in the folder is no regular file",
        ),
        (
            "a folder",
            saving("os.makedirs(path_of(folder, session_id), exist_ok=True)"),
            "made a folder, and no file in it",
        ),
        (
            "a pickle",
            saving("""
import pickle
path = path_of(folder, session_id)
path.with_suffix(".new").write_bytes(pickle.dumps(session))
os.replace(path.with_suffix(".new"), path)
"""),
            "held a pickle",
        ),
    ],
    "load_session": [
        (
            "an empty one for all",
            loading("""
path = path_of(folder, session_id)
try:
    return json.loads(path.read_text(encoding="utf-8"))
except Exception:
    return {}
"""),
            "of which there is no session, returned {}.",
        ),
        (
            "an empty one for a damaged one",
            loading(
                PATH
                + """
try:
    return json.loads(path.read_text(encoding="utf-8"))
except ValueError:
    return {}
"""
            ),
            "that ends in the middle returned {}.",
        ),
        (
            "None for a damaged one",
            loading(
                PATH
                + """
try:
    return json.loads(path.read_text(encoding="utf-8"))
except ValueError:
    return None
"""
            ),
            "that ends in the middle returned None.",
        ),
        (
            "None for an empty file",
            loading(
                PATH
                + """
text = path.read_bytes()
if not text.strip():
    return None
try:
    return json.loads(text)
except ValueError as error:
    raise ValueError(str(path)) from error
"""
            ),
            "that has 0 bytes returned None",
        ),
        (
            "None for what holds nothing",
            loading(
                PATH
                + READ
                + """
if not session:
    return None
if not isinstance(session, dict):
    raise ValueError(str(path))
return session
"""
            ),
            "that holds an empty list returned None",
        ),
        ("bare errors", loading(PATH + PARSE), "raised a bare JSONDecodeError"),
        (
            "a bare UnicodeDecodeError",
            loading(
                PATH
                + """
text = path.read_text(encoding="utf-8")
try:
    session = json.loads(text)
except json.JSONDecodeError as error:
    raise ValueError(f"{path} is damaged") from error
return session
"""
            ),
            "raised a bare UnicodeDecodeError",
        ),
        (
            "the id in place of the file",
            loading(
                PATH
                + """
try:
    session = json.loads(path.read_text(encoding="utf-8"))
except ValueError as error:
    raise ValueError(f"session {session_id} is damaged") from error
return session
"""
            ),
            "without the file's name: 'session s-1 is damaged'",
        ),
        (
            "another error",
            loading(
                PATH
                + """
try:
    session = json.loads(path.read_text(encoding="utf-8"))
except ValueError as error:
    raise RuntimeError(f"{path} is damaged") from error
return session
"""
            ),
            "raised RuntimeError: ",
        ),
        ("a list is returned", loading(PATH + READ + "return session"), "that holds a list returned a list"),
        (
            "a list is an AttributeError",
            loading(
                PATH
                + READ
                + """
if session.get("messages") is None:
    raise ValueError(f"{path} holds no session")
return session
"""
            ),
            "that holds a list raised AttributeError",
        ),
        (
            "null is returned",
            loading(
                PATH
                + READ
                + """
if isinstance(session, list):
    raise ValueError(f"{path} holds a list")
return session
"""
            ),
            "that holds null returned None",
        ),
        (
            "in Latin-1",
            loading(
                PATH
                + """
try:
    session = json.loads(path.read_text(encoding="latin-1"))
except ValueError as error:
    raise ValueError(f"{path} is damaged") from error
return session
"""
            ),
            "that is not UTF-8 returned {",
        ),
        (
            "UTF-8 read as Latin-1",
            loading(
                PATH
                + """
return json.loads(path.read_text(encoding="latin-1"))
""",
                saving("""
text = json.dumps(session, ensure_ascii=False)
text.encode("utf-8")
write(path_of(folder, session_id), text)
"""),
            ),
            "returned 'Ich hei",
        ),
        (
            "what does not fit left out",
            loading(
                PATH
                + """
try:
    session = json.loads(path.read_text(encoding="utf-8", errors="ignore"))
except ValueError as error:
    raise ValueError(f"{path} is damaged") from error
return session
"""
            ),
            "that is not UTF-8 returned {'messages'",
        ),
        (
            "deletes what is damaged",
            loading(
                PATH
                + """
try:
    return json.loads(path.read_text(encoding="utf-8"))
except ValueError as error:
    path.unlink()
    raise ValueError(f"{path} is damaged") from error
"""
            ),
            "deleted a file; it is asked to read",
        ),
        (
            "moves what is damaged",
            loading(
                PATH
                + """
try:
    return json.loads(path.read_text(encoding="utf-8"))
except ValueError as error:
    path.rename(path.with_suffix(".damaged"))
    raise ValueError(f"{path} is damaged") from error
"""
            ),
            "moved a file away",
        ),
        (
            "repairs what is damaged",
            loading(
                PATH
                + """
try:
    return json.loads(path.read_text(encoding="utf-8"))
except ValueError as error:
    path.write_text("{}", encoding="utf-8")
    raise ValueError(f"{path} is damaged") from error
"""
            ),
            "wrote into a file",
        ),
        (
            "makes the file",
            loading("""
path = path_of(folder, session_id)
if not path.exists():
    path.write_text("{}", encoding="utf-8")
return json.loads(path.read_text(encoding="utf-8")) or None
"""),
            "made the file home/",
        ),
        (
            "opened for appending",
            loading("""
path = path_of(folder, session_id)
with open(path, "a+", encoding="utf-8") as file:
    file.seek(0)
    text = file.read()
return json.loads(text) if text else None
"""),
            "made an empty file",
        ),
        (
            "a missing one is an error",
            loading("""
path = path_of(folder, session_id)
try:
    return json.loads(path.read_text(encoding="utf-8"))
except ValueError as error:
    raise ValueError(f"{path} is damaged") from error
"""),
            "raised FileNotFoundError; the rule asks for None",
        ),
        (
            "a missing one is a KeyError",
            loading("""
path = path_of(folder, session_id)
if not path.exists():
    raise KeyError(session_id)
return json.loads(path.read_text(encoding="utf-8"))
"""),
            "raised KeyError; the rule asks for None",
        ),
        (
            "a missing one is a ValueError",
            loading("""
path = path_of(folder, session_id)
try:
    return json.loads(path.read_text(encoding="utf-8"))
except (ValueError, OSError) as error:
    raise ValueError(f"{path} is damaged") from error
"""),
            "That error is for a file that is there",
        ),
        (
            "a fresh one for a missing one",
            loading("""
path = path_of(folder, session_id)
if not path.exists():
    return {"messages": [], "scratchpad": {}}
return json.loads(path.read_text(encoding="utf-8"))
"""),
            "returned {'messages': []",
        ),
        ("the messages alone", loading(PATH + READ + 'return session["messages"]'), "a list; the session is a dict"),
        ("the text", loading(PATH + 'return path.read_text(encoding="utf-8")'), "a str; the session is a dict"),
        ("nothing returned", loading(PATH + READ), "read the file, and returned None"),
        (
            "another path",
            loading("""
check_id(session_id)
path = Path(folder) / f"{hashlib.md5(session_id.encode()).hexdigest()}.json"
return json.loads(path.read_text(encoding="utf-8")) if path.exists() else None
"""),
            "returned None; `save_session` had saved it",
        ),
        (
            "the id as a path",
            loading("""
check_id(session_id)
path = Path(folder) / f"{session_id}.json"
return json.loads(path.read_text(encoding="utf-8")) if path.exists() else None
"""),
            "'../ada', of which there is no session, read one outside",
        ),
        (
            "from a variable",
            loading(
                """
check_id(session_id)
return remembered.get((folder, session_id))
""",
                SAVE
                + """
remembered = {}
save_file = save_session
def save_session(folder, session_id, session):
    save_file(folder, session_id, session)
    remembered[folder, session_id] = session
""",
            ),
            "after a restart, returned None",
        ),
        (
            "a cache",
            loading(
                """
path = path_of(folder, session_id)
if path not in cache and path.exists():
    cache[path] = json.loads(path.read_text(encoding="utf-8"))
return cache.get(path)
""",
                SAVE + "\ncache = {}\n",
            ),
            "that ends in the middle returned {'messages'",
        ),
        (
            "damaged for good",
            loading(
                """
path = path_of(folder, session_id)
if path in damaged:
    raise ValueError(f"{path} is damaged")
if not path.exists():
    return None
try:
    session = json.loads(path.read_text(encoding="utf-8"))
    if not isinstance(session, dict):
        raise ValueError
    return session
except ValueError as error:
    damaged.add(path)
    raise ValueError(f"{path} is damaged") from error
""",
                SAVE + "\ndamaged = set()\n",
            ),
            "has been mended",
        ),
        (
            "ids not looked at",
            loading("""
path = Path(folder) / f"{hashlib.sha256(str(session_id).encode()).hexdigest()}.json"
return json.loads(path.read_text(encoding="utf-8")) if path.exists() else None
"""),
            "with '' as id raised nothing",
        ),
        (
            "a number is an AttributeError",
            loading("""
if session_id == "":
    raise ValueError("empty")
path = Path(folder) / f"{hashlib.sha256(session_id.encode()).hexdigest()}.json"
return json.loads(path.read_text(encoding="utf-8")) if path.exists() else None
"""),
            "with 7 as id raised AttributeError",
        ),
        (
            "one error for all",
            loading("""
if not session_id or not isinstance(session_id, str):
    raise ValueError("no id")
path = path_of(folder, session_id)
return json.loads(path.read_text(encoding="utf-8")) if path.exists() else None
"""),
            "with 7 as id raised ValueError: no id",
        ),
        (
            "lower-cased",
            loading("""
path = path_of(folder, session_id.lower() if isinstance(session_id, str) else session_id)
return json.loads(path.read_text(encoding="utf-8")) if path.exists() else None
"""),
            "`load_session` with 'Ada' returned",
        ),
        (
            "a saving function that fails",
            loading(LOAD, saving("raise RuntimeError('full')")),
            "Solve `save_session` first",
        ),
        (
            "a saving function that loses all",
            loading(LOAD, saving('write(path_of(folder, session_id), "{}")')),
            "does not hold the session as JSON",
        ),
        ("a saving function that saves nothing", loading(LOAD, saving("path_of(folder, session_id)")), "made 0 files"),
    ],
    "SqliteStore": [
        (
            "the messages after the commit",
            changed(
                STORE,
                (
                    "            connection.executemany(insert, rows)\n",
                    "        with closing(connect(self.path)) as connection:\n"
                    "            connection.executemany(insert, rows)\n",
                ),
            ),
            "The disk failed at the second message",
        ),
        (
            "a blank is no id",
            changed(STORE, ("            if not id_:", "            if not id_.strip():")),
            "`append` with the id ' ' raised ValueError",
        ),
        ("a blob rewritten", changed(STORE, ("class SqliteStore:", "class Base:")) + BLOB, "no table has more than"),
        (
            "newest first",
            changed(STORE, ("messages[::-1]", "messages")),
            "the newest first; the rule asks for the oldest",
        ),
        (
            "a commit for each message",
            changed(
                STORE,
                ('            connection.execute("BEGIN IMMEDIATE")\n', ""),
                ("        rows = [(*key, json.dumps(message)) for message in messages]\n", ""),
                (
                    "connection.executemany(insert, rows)",
                    'for message in messages:\n                connection.execute("INSERT INTO messages (tenant, user, '
                    'session, message) VALUES (?, ?, ?, ?)", (*key, json.dumps(message)))',
                ),
            ),
            "1 of them stands in the store",
        ),
        (
            "the version written before the messages, each by itself",
            changed(
                STORE,
                ('            connection.execute("BEGIN IMMEDIATE")\n', ""),
                ("        rows = [(*key, json.dumps(message)) for message in messages]\n", ""),
                ("(insert, rows)", "(insert, [(*key, json.dumps(m)) for m in messages])"),
            ),
            "the pad or the version has changed",
        ),
        ("stale versions accepted", changed(STORE, ("version != newest", "False")), "was accepted"),
        (
            "the first turn is not looked at",
            changed(STORE, ("version != newest", "version and version != newest")),
            "to version 0, after a rival's first turn was accepted",
        ),
        (
            "the database's own error",
            changed(STORE, ("raise Conflict()", 'raise sqlite3.IntegrityError("UNIQUE constraint failed")')),
            "raised IntegrityError",
        ),
        ("another error", changed(STORE, ("raise Conflict()", 'raise RuntimeError("stale")')), "RuntimeError: stale"),
        (
            "the version looked at before the transaction",
            changed(
                STORE,
                ('            connection.execute("BEGIN IMMEDIATE")\n', ""),
                (
                    "            new_pad = old_pad",
                    '            connection.execute("BEGIN IMMEDIATE")\n            new_pad = old_pad',
                ),
            ),
            "by the time of writing it was no longer the newest",
        ),
        (
            "a transaction that begins by reading",
            changed(STORE, ("BEGIN IMMEDIATE", "BEGIN")),
            "A plain `BEGIN` takes the writer's place",
        ),
        (
            "ids stripped",
            changed(STORE, ("return tenant, user, session", "return tenant.strip(), user.strip(), session.strip()")),
            "one begins with a space",
        ),
        (
            "ids made numbers",
            STORE
            + """
SqliteStore.text_key = SqliteStore.key
SqliteStore.key = lambda self, ids: [int(id_) if id_.isascii() and id_.isdigit() else id_ for id_ in self.text_key(ids)]
""",
            "one has zeros in front",
        ),
        (
            "written, and then refused",
            changed(
                STORE,
                ('            connection.execute("BEGIN IMMEDIATE")\n', ""),
                ("            if version != newest:\n                raise Conflict()\n", ""),
                (
                    "(insert, rows)\n",
                    "(insert, rows)\n            if version != newest:\n                raise Conflict()\n",
                ),
            ),
            "raised `Conflict`, and had written something",
        ),
        (
            "a pad alone is not refused",
            changed(STORE, ("version != newest", "messages and version != newest")),
            "pad alone with a stale version was accepted",
        ),
        (
            "the pad is written before the version is looked at",
            changed(
                STORE,
                ('            connection.execute("BEGIN IMMEDIATE")\n', ""),
                (
                    "            if version != newest:",
                    "            if pad is not None and newest:\n"
                    '                connection.execute(f"UPDATE conversations SET pad = ? WHERE {WHERE}", '
                    "(json.dumps(pad), *key))\n"
                    "            if version != newest:",
                ),
            ),
            "had changed the pad",
        ),
        ("last ignored", changed(STORE, ("-1 if last is None else last", "-1")), "gave all 8 messages"),
        (
            "the first ones",
            changed(STORE, ("ORDER BY seq DESC", "ORDER BY seq"), ("messages[::-1]", "messages")),
            "gave the first 1 of 8",
        ),
        ("0 is everything", changed(STORE, ("-1 if last is None else last", "last or -1")), "0 of the newest are none"),
        (
            "last counts turns",
            changed(STORE, ("-1 if last is None else last", "-1 if last is None else 2 * last")),
            "counts messages, not turns",
        ),
        (
            "the newest alone turned round",
            changed(STORE, ("messages[::-1]", "(messages[::-1] if last is None else messages)")),
            "gave the right messages, the newest first",
        ),
        ("the version is not returned", changed(STORE, ("        return newest + 1\n", "")), "returned None"),
        ("the old version returned", changed(STORE, ("return newest + 1", "return newest")), "the same as before"),
        (
            "another version returned",
            changed(STORE, ("return newest + 1", "return newest + 2"), ("version != newest", "version < newest")),
            "Both must mean the same",
        ),
        (
            "a joined key",
            changed(STORE, ("return tenant, user, session\n", 'return ":".join(conversation), "", ""\n')),
            'the ":" stands elsewhere',
        ),
        (
            "joined without anything between",
            changed(STORE, ("return tenant, user, session\n", 'return "".join(conversation), "", ""\n')),
            "shared out in another way",
        ),
        (
            "the tenant ignored",
            changed(STORE, ("return tenant, user, session\n", 'return "", user, session\n')),
            "the tenant differs",
        ),
        (
            "the user ignored",
            changed(STORE, ("return tenant, user, session\n", 'return tenant, "", session\n')),
            "the user differs",
        ),
        (
            "the session ignored",
            changed(STORE, ("return tenant, user, session\n", 'return tenant, user, ""\n')),
            "the session differs",
        ),
        (
            "capital letters lost",
            changed(STORE, ("return tenant, user, session\n", "return tenant, user.lower(), session\n")),
            "capital letter",
        ),
        (
            "ids in the text of the query",
            changed(
                STORE,
                (
                    'query = f"SELECT version, pad FROM conversations WHERE {WHERE}"',
                    "where = \"tenant = '%s' AND user = '%s' AND session = '%s'\" % key\n"
                    '        query = f"SELECT version, pad FROM conversations WHERE {where}"',
                ),
                ("connection.execute(query, key).fetchone()", "connection.execute(query).fetchone()"),
            ),
            "in the text of a query it becomes a part of it",
        ),
        ("nothing on the disk", IN_MEMORY, "A second `SqliteStore(path)` of the same file found 0 of 8"),
        (
            "a class that remembers",
            IN_MEMORY.replace(
                "    def __init__(self, path):\n        self.kept = {}\n",
                "    kept = {}\n    def __init__(self, path):\n        pass\n",
            ),
            "After a restart of Python",
        ),
        (
            "never committed",
            changed(
                STORE,
                (
                    "messages]\n        with closing(connect(self.path)) as connection, connection:",
                    "messages]\n        with closing(connect(self.path)) as connection:",
                ),
            ),
            "the store gave that version last",
        ),
        (
            "no pad is an empty pad",
            changed(STORE, ("old_pad if pad is None else json.dumps(pad)", "json.dumps(pad or {})")),
            "`pad=None` means that the caller has no new one",
        ),
        (
            "an empty pad is no pad",
            changed(STORE, ("old_pad if pad is None", "old_pad if not pad")),
            "An empty pad is a pad",
        ),
        (
            "pads are not kept",
            changed(STORE, ("old_pad if pad is None else json.dumps(pad)", '"{}"')),
            "comes back as the same dict",
        ),
        (
            "the pad comes back as text",
            changed(STORE, ("json.loads(pad), version", '(json.loads(pad) if pad == "{}" else pad), version')),
            "A pad was appended, and `load` gave '{",
        ),
        (
            "no pad is null",
            changed(STORE, ("old_pad if pad is None else json.dumps(pad)", "json.dumps(pad)")),
            "though none was ever given",
        ),
        (
            "the version counts messages",
            changed(
                STORE,
                ("(*key, newest + 1, new_pad)", "(*key, newest + len(messages), new_pad)"),
                ("return newest + 1", "return newest + len(messages)"),
            ),
            "Look at what your version counts",
        ),
        (
            "ids not checked",
            changed(
                STORE, ('            if not id_:\n                raise ValueError("an id must not be empty")\n', "")
            ),
            "with the tenant '' was accepted",
        ),
        (
            "ids made to texts",
            changed(
                STORE,
                (
                    "            if not isinstance(id_, str):\n                "
                    'raise TypeError("an id must be a str")\n',
                    "",
                ),
                ("return tenant, user, session\n", "return str(tenant), str(user), str(session)\n"),
            ),
            "None raised ValueError",
        ),
        (
            "7 is taken for an id",
            changed(STORE, ("not isinstance(id_, str)", "id_ is None")),
            "with the tenant 7 was accepted",
        ),
        (
            "role and content alone",
            changed(
                STORE,
                (
                    "json.dumps(message)) for message",
                    'json.dumps({"role": message["role"], "content": message["content"]})) for message',
                ),
            ),
            "A message may have more than a role and a content",
        ),
        (
            "texts in place of messages",
            changed(STORE, ("json.loads(message) for (message,) in rows", "message for (message,) in rows")),
            "which is no dict",
        ),
        (
            "messages alone",
            changed(STORE, ("return messages[::-1], json.loads(pad), version", "return messages[::-1]")),
            "the rule asks for (messages, pad, version)",
        ),
        (
            "None for an unknown conversation",
            changed(STORE, ('.fetchone() or (0, "{}")', '.fetchone() or (None, "{}")')),
            "the rule asks for ([], {}, 0)",
        ),
        (
            "the caller's list is emptied",
            changed(STORE, ("        return newest + 1\n", "        messages.clear()\n        return newest + 1\n")),
            "changed the list of messages",
        ),
        (
            "errors swallowed",
            changed(
                STORE,
                (
                    "        rows = [(*key, json.dumps(message)) for message in messages]\n",
                    "        try:\n            rows = [(*key, json.dumps(message)) for message in messages]\n"
                    "        except TypeError:\n            return version\n",
                ),
            ),
            "neither an error nor the message came of it",
        ),
        (
            "earlier rows deleted",
            changed(
                STORE,
                (
                    "            new_pad =",
                    '            connection.execute(f"DELETE FROM messages WHERE {WHERE}", key)\n            new_pad =',
                ),
            ),
            "Look at what happens to the rows of earlier turns",
        ),
        (
            "in the order of the texts",
            changed(STORE, ("ORDER BY seq DESC", "ORDER BY message DESC")),
            "gave all messages in another order",
        ),
        (
            "the transaction stays open",
            changed(
                KEPT_OPEN,
                (
                    '        with self.connection:\n            self.connection.execute("BEGIN IMMEDIATE")\n',
                    '        self.connection.execute("BEGIN IMMEDIATE")\n        if True:\n',
                ),
                (
                    "        return version + 1\n",
                    '        self.connection.execute("COMMIT")\n        return version + 1\n',
                ),
            ),
            "keeps everybody else waiting",
        ),
        ("a function", "def SqliteStore(path):\n    return 'a store'", "the rule asks for a class"),
        (
            "another file",
            changed(STORE, ("self.path = path", 'self.path = str(path) + ".other"')),
            "There is no file at the path",
        ),
    ],
    "chat_turn": [
        (
            "an empty reply is not kept",
            changed(TURN, ("        answer =", "        if not reply:\n            return reply\n        answer =")),
            "When the reply was None, `chat_turn` appended nothing",
        ),
        (
            "retries the append only",
            f"""
            def chat_turn(store, conversation, text):
                history, _, version = store.load(conversation, last=WINDOW)
                question = {{"role": "user", "content": text}}
                messages = [{{"role": "system", "content": SYSTEM_PROMPT}}, *history, question]
                reply = {CREATE}(model=model, messages=messages).choices[0].message.content or ""
                for attempt in range(3):
                    try:
                        store.append(conversation, [question, {{"role": "assistant", "content": reply}}], version)
                        return reply
                    except Conflict as error:
                        last = error
                        _, _, version = store.load(conversation, last=0)
                raise last
            """,
            "without asking the model again",
        ),
        (
            "saves the question first",
            changed(
                TURN,
                (
                    "        messages = [",
                    "        version = store.append(conversation, [question], version)\n        messages = [",
                ),
                ("[question, answer]", "[answer]"),
            ),
            "had called `append` before the model was asked",
        ),
        (
            "saves the window over the history",
            changed(TURN, ("[question, answer]", "messages[1:] + [answer]")),
            "the store would hold the window twice",
        ),
        (
            "the system message is saved",
            changed(TURN, ("[question, answer]", "[messages[0], question, answer]")),
            "appended a system message",
        ),
        (
            "no second attempt",
            changed(TURN, ("range(1, 4)", "[3]")),
            "let the `Conflict` go on to its caller at once",
        ),
        (
            "attempts without end",
            changed(
                TURN,
                ("for attempt in range(1, 4):", "while True:"),
                ("            if attempt == 3:\n                raise\n", "            continue\n"),
            ),
            "more than 8 times",
        ),
        ("two attempts", changed(TURN, ("range(1, 4)", "range(2, 4)")), "gave up after 2 attempts"),
        ("four attempts", changed(TURN, ("range(1, 4)", "range(0, 4)")), "asked the model 4 times"),
        (
            "the Conflict is swallowed at last",
            changed(
                TURN,
                (
                    "            if attempt == 3:\n                raise\n",
                    "            if attempt == 3:\n                return reply\n",
                ),
            ),
            "the caller believes that all is well",
        ),
        (
            "the Conflict is swallowed at once",
            changed(TURN, ("            if attempt == 3:\n                raise\n", "            return reply\n")),
            "The user has read an answer that the next request knows nothing of",
        ),
        (
            "another error at last",
            changed(
                TURN,
                (
                    "            if attempt == 3:\n                raise\n",
                    "            if attempt == 3:\n                raise RuntimeError('busy')\n",
                ),
            ),
            "RuntimeError: busy",
        ),
        (
            "no system message",
            changed(
                TURN, ('[{"role": "system", "content": SYSTEM_PROMPT}, *history, question]', "[*history, question]")
            ),
            "sent 0 system messages",
        ),
        (
            "the system message last",
            changed(
                TURN,
                (
                    '[{"role": "system", "content": SYSTEM_PROMPT}, *history, question]',
                    '[*history, question, {"role": "system", "content": SYSTEM_PROMPT}]',
                ),
            ),
            "the system message is not the first",
        ),
        ("all history sent", changed(TURN, (", last=WINDOW", "")), "sent 8 stored messages"),
        (
            "the question counted in the window",
            changed(TURN, ("last=WINDOW", "last=WINDOW - 1")),
            "sent 5 stored messages where 6 belong",
        ),
        (
            "the oldest",
            changed(TURN, (", last=WINDOW", ""), ("*history, question]", "*history[:WINDOW], question]")),
            "not the newest; the first was 'Question 1, Zoë?'",
        ),
        (
            "nothing of the store sent",
            changed(TURN, ("*history, question]", "question]")),
            "without anything from the store",
        ),
        ("the question not sent", changed(TURN, ("*history, question]", "*history]")), "the question is none of them"),
        (
            "the question before the history",
            changed(TURN, ("*history, question]", "question, *history]")),
            "not as the user's last message",
        ),
        (
            "two appends",
            changed(
                TURN,
                (
                    "            store.append(conversation, [question, answer], version)",
                    "            version = store.append(conversation, [question], version)\n"
                    "            store.append(conversation, [answer], version)",
                ),
            ),
            "called `append` 2 times for one turn",
        ),
        (
            "a version of one's own",
            changed(
                TURN,
                ("    for attempt", "    _, _, mine = store.load(conversation)\n    for attempt"),
                ("[question, answer], version)", "[question, answer], mine)"),
                ("            if attempt == 3:", "            mine += 1\n            if attempt == 3:"),
            ),
            "A version is no counter of yours",
        ),
        (
            "appended to version 0",
            changed(TURN, ("[question, answer], version)", "[question, answer], 0)")),
            "appended to version 0; `load` had given 40",
        ),
        (
            "loaded once",
            changed(
                TURN,
                (
                    "        history, pad, version = store.load(conversation, last=WINDOW)\n",
                    "        _, _, version = store.load(conversation, last=WINDOW)\n",
                ),
                ("    for attempt", "    history, _, _ = store.load(conversation, last=WINDOW)\n    for attempt"),
            ),
            "the second request did not hold the rival's turn",
        ),
        (
            "the version loaded after the reply",
            changed(
                TURN,
                ("        try:\n", "        version = store.load(conversation, last=0)[2]\n        try:\n"),
            ),
            "it says what is stored now, not what was sent",
        ),
        (
            "what is left of the first attempt",
            changed(
                TURN,
                ("    for attempt", "    new = []\n    for attempt"),
                ("        try:\n", "        new += [question, answer]\n        try:\n"),
                ("[question, answer], version)", "new, version)"),
            ),
            "nothing of the first attempt",
        ),
        (
            "asks again when the network is gone",
            changed(
                TURN,
                ("        messages = [", "        try:\n            messages = ["),
                ("        response =", "            response ="),
                (
                    "        reply =",
                    "        except Exception:\n            if attempt == 3:\n                raise\n"
                    "            continue\n        reply =",
                ),
            ),
            "Only a `Conflict` is a reason for another attempt",
        ),
        (
            "the failure is swallowed",
            changed(
                TURN,
                ("        messages = [", "        try:\n            messages = ["),
                ("        response =", "            response ="),
                ("        reply =", "        except Exception:\n            return ''\n        reply ="),
            ),
            "the failure has been swallowed",
        ),
        (
            "the question is saved when the call fails",
            changed(
                TURN,
                ("        messages = [", "        try:\n            messages = ["),
                ("        response =", "            response ="),
                (
                    "        reply =",
                    "        except Exception:\n            store.append(conversation, [question], version)\n"
                    "            raise\n        reply =",
                ),
            ),
            "although the model had not answered",
        ),
        (
            "the SDK's object",
            changed(TURN, ('answer = {"role": "assistant", "content": reply}', "answer = response.choices[0].message")),
            "appended a ChatCompletionMessage",
        ),
        ("None is passed on", changed(TURN, (' or ""', "")), "when the reply was None"),
        (
            "None is stored",
            changed(
                TURN, ('{"role": "assistant", "content": reply}', '{"role": "assistant", "content": reply or None}')
            ),
            "stored {'role': 'assistant', 'content': None}",
        ),
        (
            "printed",
            changed(TURN, ("            return reply", "            return print(reply)")),
            "printed the reply",
        ),
        (
            "nothing saved",
            changed(TURN, ("            store.append(conversation, [question, answer], version)", "            pass")),
            "the store was given nothing",
        ),
        (
            "the pad emptied",
            changed(TURN, ("[question, answer], version)", "[question, answer], version, {})")),
            "appended the pad {}",
        ),
        (
            "ids joined",
            changed(TURN, ("store.append(conversation,", 'store.append(":".join(conversation),')),
            "another conversation than the one",
        ),
        (
            "the roles exchanged",
            changed(TURN, ("[question, answer]", '[{**question, "role": "assistant"}, {**answer, "role": "user"}]')),
            "A turn in the store is the question (user), then",
        ),
        ("a tuple", changed(TURN, ("[question, answer]", "(question, answer)")), "a store takes a list of messages"),
        (
            "the first reply returned",
            changed(
                TURN,
                ("    for attempt", "    replies = []\n    for attempt"),
                ("        answer =", "        replies.append(reply)\n        answer ="),
                ("            return reply", "            return replies[0]"),
            ),
            "returned 'The first reply.'",
        ),
    ],
}

if sys.platform != "win32" and not sys.flags.utf8_mode:
    # Where the machine's own encoding can be made another one.
    WRONG["save_session"].append(
        (
            "the machine's own encoding",
            saving("""
path = path_of(folder, session_id)
text = json.dumps(session, ensure_ascii=False)
with open(path.with_suffix(".new"), "w") as file:
    file.write(text)
os.replace(path.with_suffix(".new"), path)
"""),
            "on a machine whose own encoding is ASCII, raised UnicodeEncodeError",
        )
    )
    WRONG["load_session"].append(
        (
            "in the machine's own encoding",
            loading(
                """
path = path_of(folder, session_id)
try:
    session = json.loads(path.read_text())
except FileNotFoundError:
    return None
except ValueError as error:
    raise ValueError(f"{path} is damaged") from error
if not isinstance(session, dict):
    raise ValueError(f"{path} holds no dict")
return session
""",
                saving("write(path_of(folder, session_id), json.dumps(session, ensure_ascii=False))"),
            ),
            "on a machine whose own encoding is ASCII, raised ValueError",
        )
    )
