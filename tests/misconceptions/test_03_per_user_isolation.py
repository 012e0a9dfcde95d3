"""Answers to lesson 3: what must pass, and what must not, each with the message that names its mistake."""

from __future__ import annotations

from answers import *  # noqa: F403

#: What most answers to the first exercise do first.
CHECKED = """
def check_ids(*ids):
    for id_ in ids:
        if not isinstance(id_, str):
            raise TypeError(f"an id is a str, not {id_!r}")
        if not id_:
            raise ValueError("an id is not empty")
"""

#: A conversation, and those that differ from it in one id, or only until they are joined.
NEIGHBOURS = """
WRITTEN = ("a:b", "c", "s")
NEIGHBOURS = [("a", "b:c", "s"), ("x", "c", "s"), ("a:b", "x", "s"), ("a:b", "c", "x")]
"""

RIGHT = {
    "get_session": [
        (
            "a dict of tuples",
            f"""{CHECKED}
SESSIONS = {{}}

def get_session(tenant, user, session):
    check_ids(tenant, user, session)
    key = (tenant, user, session)
    if key not in SESSIONS:
        SESSIONS[key] = {{"messages": [], "scratchpad": {{}}}}
    return SESSIONS[key]
""",
        ),
        (
            "setdefault",
            f"""{CHECKED}
SESSIONS = {{}}

def get_session(tenant, user, session):
    check_ids(tenant, user, session)
    return SESSIONS.setdefault((tenant, user, session), {{"messages": [], "scratchpad": {{}}}})
""",
        ),
        (
            "dicts within dicts",
            f"""{CHECKED}
TENANTS = {{}}

def get_session(tenant, user, session):
    check_ids(tenant, user, session)
    sessions = TENANTS.setdefault(tenant, {{}}).setdefault(user, {{}})
    if sessions.get(session) is None:
        sessions[session] = dict(messages=list(), scratchpad=dict())
    return sessions[session]
""",
        ),
        (
            "an object's method, under the function's name",
            f"""{CHECKED}
class Sessions:
    def __init__(self):
        self._kept = {{}}

    def get(self, tenant, user, session):
        check_ids(tenant, user, session)
        try:
            return self._kept[tenant, user, session]
        except KeyError:
            made = self._kept[tenant, user, session] = {{"scratchpad": {{}}, "messages": []}}
            return made

get_session = Sessions().get
""",
        ),
        (
            "a defaultdict, asked after a check",
            f"""{CHECKED}
from collections import defaultdict

SESSIONS = defaultdict(lambda: {{"messages": [], "scratchpad": {{}}}})

def get_session(tenant, user, session):
    check_ids(tenant, user, session)
    return SESSIONS[tenant, user, session]
""",
        ),
        (
            "a template copied deeply, under a key of JSON",
            """
import copy
import json

TEMPLATE = {"messages": [], "scratchpad": {}}
SESSIONS = {}

def get_session(tenant, user, session):
    ids = [tenant, user, session]
    if any(type(id_) is not str for id_ in ids):
        raise TypeError(ids)
    if "" in ids:
        raise ValueError(ids)
    key = json.dumps(ids)
    if key not in SESSIONS:
        SESSIONS[key] = copy.deepcopy(TEMPLATE)
    return SESSIONS[key]
""",
        ),
        (
            "a cache that forgets nothing",
            f"""{CHECKED}
import functools

@functools.cache
def _session(tenant, user, session):
    print("a new session")
    return {{"messages": [], "scratchpad": {{}}}}

def get_session(tenant, user, session):
    check_ids(tenant, user, session)
    return _session(tenant, user, session)
""",
        ),
        (
            "a list of pairs that is searched",
            f"""{CHECKED}
SESSIONS = []

def get_session(tenant, user, session):
    check_ids(tenant, user, session)
    for ids, found in SESSIONS:
        if ids == (tenant, user, session):
            return found
    SESSIONS.append(((tenant, user, session), {{"messages": [], "scratchpad": {{}}}}))
    return SESSIONS[-1][1]
""",
        ),
    ],
    "test_isolation": [
        (
            "one text, and its neighbours",
            f"""{NEIGHBOURS}
def test_isolation(store):
    store.add(*WRITTEN, "the code is 4711")
    for ids in NEIGHBOURS:
        assert "the code is 4711" not in store.read(*ids), f"it leaks to {{ids}}"
""",
        ),
        (
            "each has its own text and no other's",
            f"""{NEIGHBOURS}
def test_isolation(store):
    conversations = [WRITTEN, *NEIGHBOURS, ("a:b:c", "s", "t"), ("a", "b", "c:s:t")]
    for number, (tenant, user, session) in enumerate(conversations):
        store.add(tenant=tenant, user=user, session=session, text=f"text {{number}}")
    for number, ids in enumerate(conversations):
        texts = [text for text in store.read(*ids) if text.startswith("text ")]
        assert texts == [f"text {{number}}"]
""",
        ),
        (
            "as it was before, compared and raised by hand",
            f"""{NEIGHBOURS}
def test_isolation(store):
    before = {{ids: store.read(*ids) for ids in NEIGHBOURS}}
    store.add(*WRITTEN, "secret")
    if {{ids: store.read(*ids) for ids in NEIGHBOURS}} != before:
        raise AssertionError("somebody else's conversation has changed")
""",
        ),
        (
            "four pairs, with an own kind of AssertionError",
            """
class Leak(AssertionError):
    pass

def test_isolation(store):
    pairs = [
        (("acme", "ada", "s1"), ("globex", "ada", "s1")),
        (("acme", "bob", "s1"), ("acme", "eve", "s1")),
        (("acme", "kim", "s1"), ("acme", "kim", "s2")),
        (("acme", "lee:1", "2"), ("acme", "lee", "1:2")),
    ]
    for number, (one, other) in enumerate(pairs):
        size = len(store.read(*other))
        store.add(*one, f"secret {number}")
        if len(store.read(*other)) > size:
            raise Leak(one, other)
""",
        ),
        (
            "a unittest in it, and ids made anew",
            """
import unittest
import uuid

def test_isolation(store):
    case = unittest.TestCase()
    t, u, s = (uuid.uuid4().hex for _ in range(3))
    for number, (one, other) in enumerate([
        ((t, u, s), (t + "2", u, s)),
        ((t, u, s), (t, u + "2", s)),
        ((t, u, s), (t, u, s + "2")),
        ((t + ":" + u, u, s), (t, u + ":" + u, s)),
    ]):
        store.add(*one, f"one {number}")
        store.add(*other, f"other {number}")
        case.assertIn(f"one {number}", store.read(*one))
        case.assertNotIn(f"one {number}", store.read(*other))
        case.assertNotIn(f"other {number}", store.read(*one))
""",
        ),
        (
            "as an unused conversation begins, and its own text",
            f"""{NEIGHBOURS}
def test_isolation(store):
    unused = store.read("nobody", "nobody", "nobody")
    for number, ids in enumerate([WRITTEN, *NEIGHBOURS]):
        store.add(*ids, f"text {{number}}")
    for number, ids in enumerate([WRITTEN, *NEIGHBOURS]):
        assert store.read(*ids) == [*unused, f"text {{number}}"]
""",
        ),
        (
            "that it refuses what is no id, too",
            f"""{NEIGHBOURS}
def test_isolation(store):
    for ids, error in [(("", "u", "s"), ValueError), (("t", 7, "s"), TypeError)]:
        try:
            store.add(*ids, "nobody's")
        except error:
            pass
        else:
            raise AssertionError("a text of nobody's")
    for number, ids in enumerate([WRITTEN, *NEIGHBOURS]):
        before = store.read(*ids)
        assert not any(text.startswith("told") for text in before)
        store.add(*ids, f"told {{number}}")
        assert store.read(*ids)[len(before):] == [f"told {{number}}"]
""",
        ),
    ],
    "forget_user": [
        (
            "the keys first, then the deletion",
            """
def forget_user(store, tenant, user):
    keys = [key for key in store if key[:2] == (tenant, user)]
    for key in keys:
        del store[key]
    return len(keys)
""",
        ),
        (
            "a copy of the keys, and a counter",
            """
def forget_user(store, tenant, user):
    deleted = 0
    for key in list(store):
        if key[0] == tenant and key[1] == user:
            store.pop(key)
            deleted += 1
    return deleted
""",
        ),
        (
            "the rest put back into the same dict",
            """
def forget_user(store, tenant, user):
    before = len(store)
    kept = {(t, u, s): value for (t, u, s), value in store.items() if (t, u) != (tenant, user)}
    store.clear()
    store.update(kept)
    return before - len(store)
""",
        ),
        (
            "a sum over pops",
            """
def forget_user(store, tenant, user):
    return sum(store.pop(key) is not None for key in tuple(store.keys()) if key == (tenant, user, key[2]))
""",
        ),
        (
            "until none is found",
            """
def forget_user(store, tenant, user):
    deleted = 0
    while True:
        for t, u, s in store:
            if t == tenant and u == user:
                break
        else:
            return deleted
        del store[t, u, s]
        deleted += 1
""",
        ),
    ],
}


def _get_session(body: str, before: str = "") -> str:
    """An answer that checks the ids as it should, and then does this."""
    lines = "\n".join(f"    {line}" for line in body.strip().splitlines())
    return f"""{CHECKED}
SESSIONS = {{}}
{before}
def get_session(tenant, user, session):
    check_ids(tenant, user, session)
{lines}
"""


def _by_key(key: str) -> str:
    """An answer that is right but for its key."""
    return _get_session(f'return SESSIONS.setdefault({key}, {{"messages": [], "scratchpad": {{}}}})')


def _with_check(check: str) -> str:
    """An answer that is right but for how it looks at the ids."""
    lines = "\n".join(f"    {line}" for line in check.strip().splitlines())
    return f"""
SESSIONS = {{}}

def get_session(tenant, user, session):
{lines}
    return SESSIONS.setdefault((tenant, user, session), {{"messages": [], "scratchpad": {{}}}})
"""


def _test(body: str) -> str:
    """A test that does this."""
    lines = "\n".join(f"    {line}" for line in body.strip().splitlines())
    return f"{NEIGHBOURS}\ndef test_isolation(store):\n{lines}\n"


def _only(conversations: str) -> str:
    """A test that writes into the first of these conversations, and reads the others."""
    return _test(f"""
written, *others = {conversations}
store.add(*written, "secret")
for ids in others:
    assert "secret" not in store.read(*ids)
""")


def _forget(condition: str) -> str:
    """An answer that is right but for its condition."""
    return f"""
def forget_user(store, tenant, user):
    keys = [key for key in store if {condition}]
    for key in keys:
        del store[key]
    return len(keys)
"""


def _forget_then(end: str) -> str:
    """An answer that deletes as it should, and then does this."""
    lines = "\n".join(f"    {line}" for line in end.strip().splitlines())
    return f"""
def forget_user(store, tenant, user):
    before = len(store)
    keys = [key for key in store if key[:2] == (tenant, user)]
    sessions = [store[key] for key in keys]
    for key in keys:
        del store[key]
{lines}
"""


KEYED = "key = (tenant, user, session)\n"
MADE = '{"messages": [], "scratchpad": {}}'

WRONG = {
    "get_session": [
        ('joined with ":"', _by_key('f"{tenant}:{user}:{session}"'), "Written with ':' between them"),
        ("joined with nothing", _by_key("tenant + user + session"), "one right behind the other"),
        ('joined with "/"', _by_key('"/".join([tenant, user, session])'), "Written with '/' between them"),
        ('joined with "|"', _by_key('"|".join([tenant, user, session])'), "Written with '|' between them"),
        ('joined with "-"', _by_key('"-".join([tenant, user, session])'), "Written with '-' between them"),
        ('joined with "_"', _by_key('"_".join([tenant, user, session])'), "Written with '_' between them"),
        ('joined with "::"', _by_key('"::".join([tenant, user, session])'), "Written with '::' between them"),
        ("joined with NUL", _by_key(r'"\0".join([tenant, user, session])'), r"Written with '\x00' between them"),
        (
            "joined with quotes, as if it were a repr",
            _by_key("""f"('{tenant}', '{user}', '{session}')\""""),
            """Written with "', '" between them""",
        ),
        ("two of three joined", _by_key('(tenant, user + "." + session)'), "Written with '.' between them"),
        (
            "escaped, but not the backslash",
            _by_key(r'":".join(id_.replace(":", "\\:") for id_ in (tenant, user, session))'),
            "until an id ends in a backslash",
        ),
        (
            "what separates is taken out of the ids",
            _by_key('":".join(id_.replace(":", "_") for id_ in (tenant, user, session))'),
            "an id is used as it is",
        ),
        ("tenant ignored", _by_key("(user, session)"), "They differ in the tenant"),
        ("user ignored", _by_key("(tenant, session)"), "They differ in the user"),
        ("session ignored", _by_key("(tenant, user)"), "They differ in the session"),
        ("user alone", _by_key("user"), "Only the user tells two sessions apart"),
        ("session alone", _by_key("session"), "Only the session tells two sessions apart"),
        ("one for all", _get_session("return ALL", f"ALL = {MADE}"), "all returned one and the same dict"),
        ("a set of ids", _by_key("frozenset([tenant, user, session])"), "the place of an id counts too"),
        ("sorted ids", _by_key("(tenant, *sorted([user, session]))"), "the place of an id counts too"),
        (
            "small letters",
            _by_key("(tenant.lower(), user.lower(), session.lower())"),
            '("Ada", "ada", "s1")',
        ),
        ("session stripped", _by_key("(tenant, user, session.strip())"), '"ada ")`'),
        ("ids cut", _by_key("(tenant, user[:100], session)"), "xxy"),
        (
            "ids normalised",
            _by_key("(tenant, *(unicodedata.normalize('NFC', id_) for id_ in (user, session)))").replace(
                "SESSIONS = {}", "import unicodedata\nSESSIONS = {}"
            ),
            "\\u0301",
        ),
        (
            "ids as file names",
            _by_key("(tenant, os.path.basename(user), session)").replace("SESSIONS = {}", "import os\nSESSIONS = {}"),
            "an id is used as it is",
        ),
        (
            "a default that is shared, copied one level deep",
            """
def get_session(tenant, user, session, store={}, new={"messages": [], "scratchpad": {}}):
    for id_ in (tenant, user, session):
        if not isinstance(id_, str):
            raise TypeError(id_)
        if not id_:
            raise ValueError(id_)
    return store.setdefault((tenant, user, session), dict(new))
""",
            "share one `messages`",
        ),
        (
            "a template copied one level deep, but for the messages",
            _get_session(
                f"{KEYED}if key not in SESSIONS:\n"
                "    SESSIONS[key] = {**TEMPLATE, 'messages': []}\nreturn SESSIONS[key]",
                f"TEMPLATE = {MADE}",
            ),
            "share one `scratchpad`",
        ),
        (
            "one list for a user",
            _get_session(
                f"{KEYED}if key not in SESSIONS:\n"
                "    kept = LISTS.setdefault((tenant, user), [])\n"
                "    SESSIONS[key] = {'messages': kept, 'scratchpad': {}}\nreturn SESSIONS[key]",
                "LISTS = {}",
            ),
            '"s2")` share one `messages`',
        ),
        (
            "dict.fromkeys with one list",
            _get_session(
                "return SESSIONS.setdefault((tenant, user, session), dict.fromkeys(['messages', 'scratchpad'], []))"
            ),
            "'scratchpad': []}",
        ),
        (
            "a shallow copy",
            _get_session(f"return SESSIONS.setdefault((tenant, user, session), {MADE}).copy()"),
            "returned a copy",
        ),
        (
            "a deep copy",
            _get_session(f"return copy.deepcopy(SESSIONS.setdefault((tenant, user, session), {MADE}))", "import copy"),
            "hands out a copy",
        ),
        (
            "emptied each time",
            _get_session(
                "found = SESSIONS.setdefault((tenant, user, session), {})\n"
                'found["messages"] = []\nfound["scratchpad"] = {}\nreturn found'
            ),
            "emptied the session",
        ),
        (
            "absent when it has no messages",
            _get_session(
                f"{KEYED}if key not in SESSIONS or not SESSIONS[key]['messages']:\n"
                f"    SESSIONS[key] = {MADE}\nreturn SESSIONS[key]"
            ),
            "lost a scratchpad",
        ),
        (
            "a cache of 128",
            f"""{CHECKED}
import functools

@functools.lru_cache
def get_session(tenant, user, session):
    check_ids(tenant, user, session)
    return {MADE}
""",
            "After some hundred other sessions",
        ),
        (
            "returns the messages",
            _get_session(f"return SESSIONS.setdefault((tenant, user, session), {MADE})['messages']"),
            "returned a list",
        ),
        ("prints", _get_session(f"print(SESSIONS.setdefault((tenant, user, session), {MADE}))"), "printed something"),
        (
            "returns only what it has found",
            _get_session(f"{KEYED}if key in SESSIONS:\n    return SESSIONS[key]\nSESSIONS[key] = {MADE}"),
            "each way through your function",
        ),
        ("does not make it", _get_session("return SESSIONS[tenant, user, session]"), "KeyError"),
        (
            "a class's objects",
            _get_session(
                "return SESSIONS.setdefault((tenant, user, session), Session())",
                "class Session:\n    def __init__(self):\n        self.messages, self.scratchpad = [], {}\n",
            ),
            "returned a Session",
        ),
        ("a tuple", _get_session("return SESSIONS.setdefault((tenant, user, session), ([], {}))"), "returned a tuple"),
        ("a text", _get_session("return f'{tenant}/{user}/{session}'"), "returned a str"),
        (
            "with a system message",
            _get_session(
                "return SESSIONS.setdefault((tenant, user, session), "
                '{"messages": [{"role": "system", "content": "Be brief."}], "scratchpad": {}})'
            ),
            "nobody has said anything in it yet",
        ),
        (
            "with its ids",
            _get_session(
                "return SESSIONS.setdefault((tenant, user, session), "
                '{"messages": [], "scratchpad": {}, "created": "today"})'
            ),
            "more than was asked for",
        ),
        (
            "without a pad",
            _get_session("return SESSIONS.setdefault((tenant, user, session), {'messages': []})"),
            "without 'scratchpad'",
        ),
        (
            "history for messages",
            _get_session("return SESSIONS.setdefault((tenant, user, session), {'history': [], 'scratchpad': {}})"),
            "without 'messages'",
        ),
        (
            "an empty dict",
            _get_session("return SESSIONS.setdefault((tenant, user, session), {})"),
            "'messages' and 'scratchpad'",
        ),
        ("nothing refused", _with_check("pass"), "an empty session is refused with a ValueError"),
        (
            "the type not refused",
            _with_check("if not (tenant and user and session != ''):\n    raise ValueError('empty')"),
            "a session that is no str is refused",
        ),
        (
            "truth before type",
            _with_check(
                "if not all([tenant, user, session]):\n    raise ValueError('empty')\n"
                "if not all(isinstance(id_, str) for id_ in (tenant, user, session)):\n    raise TypeError('no str')"
            ),
            "None is of another type",
        ),
        (
            "TypeError for all",
            _with_check(
                "if not all(isinstance(id_, str) and id_ for id_ in (tenant, user, session)):\n"
                "    raise TypeError('no id')"
            ),
            "of the right type, but no id",
        ),
        (
            "ValueError for all",
            _with_check(
                "if not all(isinstance(id_, str) and id_ for id_ in (tenant, user, session)):\n"
                "    raise ValueError('no id')"
            ),
            "7 is of another type",
        ),
        (
            "assert",
            _with_check("for id_ in (tenant, user, session):\n    assert isinstance(id_, str) and id_"),
            "raised AssertionError",
        ),
        (
            "ids made texts",
            _with_check(
                "tenant, user, session = str(tenant), str(user), str(session)\n"
                "if not (tenant and user and session):\n    raise ValueError('empty')"
            ),
            "an id that was forgotten is a name",
        ),
        (
            "the session alone checked",
            _with_check(
                "if not isinstance(session, str):\n    raise TypeError(session)\n"
                "if not session:\n    raise ValueError(session)"
            ),
            "an empty user is refused",
        ),
        (
            "the tenant not checked",
            _with_check(
                "for id_ in (user, session):\n"
                "    if not isinstance(id_, str):\n        raise TypeError(id_)\n"
                "    if not id_:\n        raise ValueError(id_)"
            ),
            "an empty tenant is refused",
        ),
        (
            "a blank id refused",
            _with_check(
                "for id_ in (tenant, user, session):\n"
                "    if not isinstance(id_, str):\n        raise TypeError('no str')\n"
                "    if not id_.strip():\n        raise ValueError('blank')"
            ),
            "none is empty: an id may hold any character",
        ),
        (
            "letters and digits only",
            _with_check(
                "for id_ in (tenant, user, session):\n"
                "    if not isinstance(id_, str):\n        raise TypeError('no str')\n"
                "    if not id_ or ':' in id_:\n        raise ValueError('an id holds no colon')"
            ),
            "an id holds no colon",
        ),
        ("too few parameters", f"def get_session(session):\n    return {MADE}", "TypeError"),
    ],
    "test_isolation": [
        ("the user only", _only('[("acme", "u1", "s"), ("acme", "u2", "s")]'), "In all its calls the tenant is"),
        ("the tenant only", _only('[("acme", "u", "s"), ("globex", "u", "s")]'), "In all its calls the user is"),
        (
            "the session only",
            _only('[("acme", "ada", "s1"), ("acme", "ada", "s2")]'),
            'In all its calls the user is "ada"',
        ),
        (
            "not the session",
            _only('[("acme", "u1", "s"), ("acme", "u2", "s"), ("globex", "u1", "s"), ("acme:u1", "s", "s")]'),
            "In all its calls the session is",
        ),
        (
            "all at once",
            _only('[("acme", "u1", "s1"), ("globex", "u2", "s2")]'),
            "Where the user differs, another id differs too",
        ),
        (
            "no colon",
            _only('[("acme", "u1", "s1"), ("acme", "u1", "s2"), ("acme", "u2", "s1"), ("globex", "u1", "s1")]'),
            'No id in your test has a ":"',
        ),
        (
            "a colon that does not matter",
            _only('[("a:b", "c", "s1"), ("a:b", "c", "s2"), ("a:b", "c:", "s1"), ("a", "c", "s1")]'),
            "no two of its conversations are alike once joined",
        ),
        (
            "the colliding pair is written, but not compared",
            _only('[("a:b", "c", "s"), ("x", "c", "s"), ("a:b", "x", "s"), ("a:b", "c", "x")]')
            + '    store.add("a", "b:c", "s", "other")\n',
            "it does not look in one for what",
        ),
        (
            "the tenant's neighbour is read, not looked at",
            _only('[("a:b", "c", "s"), ("a", "b:c", "s"), ("a:b", "x", "s"), ("a:b", "c", "x")]')
            + '    store.read("x", "c", "s")\n',
            "does not mind what it finds there",
        ),
        (
            "returns False",
            _test('store.add(*WRITTEN, "secret")\nreturn all("secret" not in store.read(*ids) for ids in NEIGHBOURS)'),
            "returned False",
        ),
        (
            "returns whether it leaks",
            _test('store.add(*WRITTEN, "secret")\nreturn any("secret" in store.read(*ids) for ids in NEIGHBOURS)'),
            "returned True",
        ),
        (
            "raises and returns True",
            _test(
                'store.add(*WRITTEN, "secret")\n'
                'for ids in NEIGHBOURS:\n    assert "secret" not in store.read(*ids)\nreturn True'
            ),
            "found each leak, and returned True",
        ),
        (
            "the conditional expression",
            _test(
                'store.add("acme", "u1", "s1", "secret-from-u1")\n'
                'b = store.read("acme", "u2", "s1")\n'
                'assert b[-1] != "secret-from-u1" if len(b) > 1 else True'
            ),
            "lets the same leak pass if they begin empty",
        ),
        (
            "the first text only",
            _test(
                'store.add(*WRITTEN, "secret")\nfor ids in NEIGHBOURS:\n    assert store.read(*ids)[:1] != ["secret"]'
            ),
            "if they begin with the store's own text",
        ),
        (
            "a tuple is true",
            _test(
                'store.add(*WRITTEN, "secret")\n'
                'for ids in NEIGHBOURS:\n    kept = "secret" not in store.read(*ids), "it leaks"\n    assert kept'
            ),
            "no AssertionError comes out of it",
        ),
        (
            "its own AssertionError is caught",
            _test(
                'try:\n    store.add(*WRITTEN, "secret")\n    for ids in NEIGHBOURS[:3]:\n'
                '        assert "secret" not in store.read(*ids)\nexcept Exception:\n    pass'
            ),
            "where an AssertionError goes",
        ),
        (
            "it prints what it has found",
            _test(
                'store.add(*WRITTEN, "secret")\nprint(["leak" for ids in NEIGHBOURS if "secret" in store.read(*ids)])'
            ),
            "printed something",
        ),
        (
            "it prints where it has found something, and has no assert",
            _test(
                'store.add(*WRITTEN, "secret")\nfor ids in NEIGHBOURS[:3]:\n'
                '    if "secret" in store.read(*ids): print("leak")'
            ),
            "read 3 times, printed something",
        ),
        (
            "it notes what it has found, and has no assert",
            _test(
                'store.add(*WRITTEN, "secret")\nleaks = []\nfor ids in NEIGHBOURS[1:]:\n'
                '    if "secret" in store.read(*ids): leaks.append(ids)'
            ),
            "Look for its `assert`",
        ),
        (
            "a comparison without assert",
            _test('store.add("a", "b", "c", "secret")\nstore.read("a", "x", "c") != ["secret"]'),
            "another user",
        ),
        (
            "two whole lists are not equal",
            _test(
                'store.add(*WRITTEN, "secret")\n'
                "for ids in NEIGHBOURS:\n    assert store.read(*ids) != store.read(*WRITTEN)"
            ),
            "each conversation begins in its own way",
        ),
        ("never asks", _test("assert store is not None"), "has not asked the store anything"),
        ("returns True at once", _test("return True"), "returned True, and has not asked"),
        ("never reads", _test('store.add(*WRITTEN, "secret")\nassert store'), "has read nothing"),
        ("never writes", _test('assert "secret" not in store.read(*WRITTEN)'), "has added nothing"),
        (
            "one conversation",
            _test('store.add(*WRITTEN, "secret")\nassert "secret" in store.read(*WRITTEN)'),
            "used one conversation",
        ),
        (
            "reads before it writes",
            _test('for ids in NEIGHBOURS:\n    assert "secret" not in store.read(*ids)\nstore.add(*WRITTEN, "secret")'),
            "read 4 conversations before",
        ),
        (
            "a new conversation is empty",
            _test('store.add(*WRITTEN, "secret")\nfor ids in NEIGHBOURS:\n    assert store.read(*ids) == []'),
            "nobody had written there",
        ),
        (
            "its text is at the front",
            _test(
                "for ids in [WRITTEN, *NEIGHBOURS]:\n    store.add(*ids, str(ids))\n"
                "for ids in [WRITTEN, *NEIGHBOURS]:\n    assert store.read(*ids)[0] == str(ids)"
            ),
            "not in front",
        ),
        ("always fails", _test("assert False"), "had not asked the store that it was given anything"),
        (
            "always fails, with a reason",
            _test('raise AssertionError("it leaks")'),
            "AssertionError: it leaks and had not",
        ),
        (
            "upside down",
            _test('store.add(*WRITTEN, "secret")\nfor ids in NEIGHBOURS:\n    assert "secret" in store.read(*ids)'),
            "is it true when nothing has leaked?",
        ),
        (
            "the last of an empty list",
            _test('store.add(*WRITTEN, "secret")\nfor ids in NEIGHBOURS:\n    assert store.read(*ids)[-1] != "secret"'),
            "raised IndexError",
        ),
        (
            "raises a ValueError",
            _test(
                'store.add(*WRITTEN, "secret")\nfor ids in NEIGHBOURS:\n'
                '    if "secret" in store.read(*ids):\n        raise ValueError("it leaks")'
            ),
            "raised ValueError: it leaks",
        ),
        ("looks inside", _test("assert len(store.conversations) == 0"), "raised AttributeError"),
        ("forgets an id", _test('store.add("acme", "u1", "secret")'), "raised TypeError"),
        (
            "numbers as ids",
            _test('store.add("acme", "u", 1, "secret")\nassert "secret" not in store.read("acme", "u", 2)'),
            "An id is a str",
        ),
    ],
    "forget_user": [
        ("the beginning of the name", _forget("key[0] == tenant and key[1].startswith(user)"), "only begins like"),
        ("a part of the name", _forget("key[0] == tenant and key[1].endswith(user)"), "only occurs"),
        (
            "the beginning of the joined key",
            _forget('":".join(key).startswith(f"{tenant}:{user}:")'),
            "begins like",
        ),
        ("tenant ignored", _forget("key[1] == user"), "two people with the same name"),
        ("tenant or user", _forget("key[0] == tenant or key[1] == user"), "Somebody else has lost a conversation"),
        (
            "looks for the ids in the sessions",
            _forget('store[key].get("tenant") == tenant and store[key].get("user") == user'),
            "deleted nothing, and returned 0",
        ),
        ("any place of the key", _forget("tenant in key and user in key"), "is the session"),
        ("the two in any order", _forget("{tenant, user} == set(key[:2])"), "is the tenant and"),
        ("small letters", _forget("key[0] == tenant and key[1].lower() == user.lower()"), "are two users"),
        ("joined", _forget('":".join(key[:2]) == f"{tenant}:{user}"'), "joined"),
        ("everybody of the tenant", _forget("key[0] == tenant"), "The whole company has lost"),
        (
            "deletes while iterating",
            """
def forget_user(store, tenant, user):
    deleted = 0
    for key in store:
        if key[:2] == (tenant, user):
            del store[key]
            deleted += 1
    return deleted
""",
            "dictionary changed size",
        ),
        (
            "a new dict",
            """
def forget_user(store, tenant, user):
    before = len(store)
    store = {key: value for key, value in store.items() if key[:2] != (tenant, user)}
    return before - len(store)
""",
            "left the caller's dict as it was",
        ),
        (
            "one session only",
            """
def forget_user(store, tenant, user):
    for key in store:
        if key[:2] == (tenant, user):
            del store[key]
            return 1
    return 0
""",
            "deleted one session of 3",
        ),
        (
            "every other one",
            """
def forget_user(store, tenant, user):
    keys = [key for key in store if key[:2] == (tenant, user)]
    for key in keys:
        del store[key]
        keys.remove(key)
    return len(keys)
""",
            "left",
        ),
        (
            "the messages only",
            """
def forget_user(store, tenant, user):
    keys = [key for key in store if key[:2] == (tenant, user)]
    for key in keys:
        store[key]["messages"].clear()
        store[key]["scratchpad"].clear()
    return len(keys)
""",
            "left the key",
        ),
        (
            "None in its place",
            """
def forget_user(store, tenant, user):
    keys = [key for key in store if key[:2] == (tenant, user)]
    for key in keys:
        store[key] = None
    return len(keys)
""",
            "with None in it",
        ),
        (
            "everything",
            "def forget_user(store, tenant, user):\n    n = len(store)\n    store.clear()\n    return n",
            "everybody is",
        ),
        (
            "a mark left behind",
            _forget_then('store[(tenant, user, "")] = "forgotten"\nreturn len(keys)'),
            "changed what was to stay",
        ),
        ("returns nothing", _forget_then("pass"), "returned None"),
        ("prints", _forget_then("print(len(keys))"), "printed something"),
        ("None for nobody", _forget_then("if keys:\n    return len(keys)"), "the number is 0"),
        ("returns the keys", _forget_then("return keys"), "returned a list"),
        ("returns the sessions", _forget_then("return {key: s for key, s in zip(keys, sessions)}"), "returned a dict"),
        ("returns whether", _forget_then("return bool(keys)"), "returned a bool"),
        ("returns how many are left", _forget_then("return len(store)"), "how many are left"),
        ("returns how many there were", _forget_then("return before"), "of all users together"),
        (
            "counts the messages",
            _forget_then('return sum(len(each["messages"]) for each in sessions)'),
            "number of the messages",
        ),
        (
            "counts afterwards",
            _forget_then("return len([key for key in store if key[:2] == (tenant, user)])"),
            "nothing is left to be counted",
        ),
        ("one at most", _forget_then("return int(bool(keys))"), "number of sessions deleted, which is 3"),
        (
            "KeyError for nobody",
            _forget_then("if not keys:\n    raise KeyError(user)\nreturn len(keys)"),
            "there is nothing to delete, and the answer is 0",
        ),
        (
            "min of nobody",
            _forget_then("return max(n for n, _ in enumerate(keys, 1))"),
            "raised ValueError",
        ),
        (
            "another shape",
            """
def forget_user(store, tenant, user):
    return len(store.pop(tenant).pop(user))
""",
            "raised KeyError",
        ),
    ],
}
