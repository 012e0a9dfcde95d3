"""What a notebook may try while it is marked, and what comes of it. Each test says what happened."""

from __future__ import annotations

import errno
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from class_of import answered

from memory_tutor import checks, course, seccomp
from memory_tutor.cassette import Request, Response
from memory_tutor.exercises import LearnerRaised, NotGradable, Result, run_check
from memory_tutor.grading import sandbox as sandboxes
from memory_tutor.grading.sandbox import Sandbox
from memory_tutor.learner import Opaque, PipeLearner

SET_UP = 'from openai import OpenAI\nclient, model = OpenAI(api_key="none"), "gpt-6-luna"'
RUN = """
import os, sys
def run(code):
    space = {}
    exec(code, space)
    return space.get("answer")
def still():
    return "here"
"""


@pytest.fixture(scope="module")
def shell(sandbox: Sandbox) -> Iterator[PipeLearner]:
    """A notebook that runs what a test gives it."""
    with sandbox.learner([SET_UP, RUN], seconds=600) as learner:
        assert [result.error for result in learner.cell_results] == ["", ""]
        yield learner


def tried(learner: PipeLearner, code: str, seconds: float = 5) -> str:
    """What comes of code: a value's repr, or the class of the exception and its text."""
    outcome = learner.call("run", code, seconds=seconds)
    if outcome.exception is None:
        return repr(outcome.value)
    return f"{outcome.exception.name}: {outcome.exception.message}"


def still_works(learner: PipeLearner) -> bool:
    return bool(learner.call("still").value == "here")


# -- what it can read ------------------------------------------------------------------------------------


def test_there_is_no_check_no_solution_and_no_recording(shell: PipeLearner) -> None:
    code = """
import os
answer = [place for top, folders, files in os.walk("/") for place in [os.path.join(top, f) for f in folders + files]
          if not top.startswith(("/proc", "/usr")) and ("memory_tutor" in place or place.endswith((".ipynb", ".yaml")))]
"""
    # What others bring is no business of ours; what of ours is installed is hidden (the next test).
    found = [place for place in shell.call("run", code, seconds=20).value if "site-packages" not in place]
    allowed = {f"/memory-tutor/memory_tutor/{name.replace('.', '/')}.py" for name in sandboxes.MODULES}
    folders = {"/memory-tutor/memory_tutor", "/memory-tutor/memory_tutor/stores"}
    assert set(found) == allowed | folders


def test_an_installed_course_is_hidden(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sandbox: Sandbox) -> None:
    installed = tmp_path / "site-packages" / "memory_tutor" / "course" / "solutions"
    installed.mkdir(parents=True)
    (installed / "01.ipynb").write_text("the solution", encoding="utf-8")
    (tmp_path / "site-packages" / "other.py").write_text("seen = True", encoding="utf-8")
    monkeypatch.setattr(sys, "path", [*sys.path, str(tmp_path / "site-packages")])
    with sandboxes.open_sandbox(require=True) as opened, opened.learner([RUN]) as learner:
        assert learner.call("run", "import other\nanswer = other.seen").value is True
        look = f"import os\nanswer = os.listdir({str(tmp_path / 'site-packages' / 'memory_tutor')!r})"
        assert learner.call("run", look).value == []
        assert "/memory-tutor/" in tried(learner, "import memory_tutor\nanswer = memory_tutor.__file__")


@pytest.mark.parametrize(
    "module", ["checks", "checks.common", "solutions", "lending", "grading", "learner", "headless", "recording"]
)
def test_modules_of_the_other_side_cannot_be_imported(shell: PipeLearner, module: str) -> None:
    assert tried(shell, f"import memory_tutor.{module}").startswith("ModuleNotFoundError")


@pytest.mark.parametrize("place", ["checkout", "home", "tests", "gradebook"])
def test_the_teachers_files_are_not_there(shell: PipeLearner, place: str, tmp_path: Path) -> None:
    (tmp_path / "grades.csv").write_text("ada,15", encoding="utf-8")
    path = {
        "checkout": course.folder("solutions"),
        "home": Path.home() / ".profile",
        "tests": Path(__file__),
        "gradebook": tmp_path / "grades.csv",
    }[place]
    for way in ("", "/proc/1/root", "/proc/self/root", "/proc/self/cwd/../.."):
        assert tried(shell, f"open({way + str(path)!r})").startswith(("FileNotFoundError", "NotADirectoryError"))


def test_the_environment_holds_nothing_of_the_teachers(shell: PipeLearner, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    names = shell.call("run", "import os\nanswer = sorted(os.environ)").value
    known = {
        "HOME", "IPYTHONDIR", "LANG", "MALLOC_ARENA_MAX", "MEMORY_TUTOR_LEARNER", "PATH", "PWD", "PYTHONPATH",
        "PYTHONDONTWRITEBYTECODE", "TMPDIR",
    }  # fmt: skip
    # IPython names the shell's pager and terminal.
    assert set(names) - known <= {"CLICOLOR", "GIT_PAGER", "PAGER", "TERM", "FORCE_COLOR", "CLICOLOR_FORCE"}
    environments = """
answer = []
import glob
for file in glob.glob("/proc/*/environ"):
    try: answer.append(open(file, "rb").read())
    except OSError: pass
answer = b"\\n".join(answer).decode("latin-1")
"""
    assert "sk-secret" not in shell.call("run", environments).value


def test_another_students_work_is_not_there(sandbox: Sandbox, shell: PipeLearner) -> None:
    write = """
import os
for place in ("/tmp/mine", "/dev/shm/mine", "/tmp/notebook/mine"):
    with open(place, "w") as file: file.write("my answer")
answer = os.listdir("/tmp")
"""
    assert "mine" in shell.call("run", write).value
    look = """
import os
answer = [os.path.join(top, name) for top, _, names in os.walk("/", onerror=None) for name in names if name == "mine"]
answer += [name for name in os.listdir("/proc") if name.isdigit() and name != "1"]
"""
    with sandbox.learner([RUN]) as other:
        assert other.call("run", look, seconds=20).value == []


# -- what it can write and reach -------------------------------------------------------------------------


def test_nothing_can_be_written_but_in_its_tmp(shell: PipeLearner) -> None:
    code = """
import os
answer = []
for line in open("/proc/self/mountinfo"):
    place = line.split()[4]
    for folder in (place, os.path.dirname(place)):
        try:
            path = os.path.join(folder, "written")
            with open(path, "w"): pass
            os.unlink(path)
            answer.append(folder)
        except OSError: pass
for top, folders, _ in os.walk("/"):
    if top.startswith(("/proc", "/tmp", "/dev/shm")): folders[:] = []
    elif os.access(top, os.W_OK): answer.append(top)
answer = sorted(set(answer))
"""
    written = shell.call("run", code, seconds=30).value
    assert not [place for place in written if place != "/dev/shm" and not f"{place}/".startswith("/tmp/")]
    for path in (sys.executable, "/memory-tutor/memory_tutor/codec.py", "/proc/sys/kernel/hostname", "/dev/new"):
        assert tried(shell, f"open({path!r}, 'w')").split(":")[0] in ("OSError", "PermissionError", "FileNotFoundError")


@pytest.mark.parametrize("family", ["AF_INET", "AF_INET6"])
def test_no_network_not_even_this_machines(shell: PipeLearner, family: str) -> None:
    with socket.socket(getattr(socket, family)) as ours:
        ours.bind(("127.0.0.1" if family == "AF_INET" else "::1", 0))
        ours.listen()
        host, port = ours.getsockname()[:2]
        said = tried(shell, f"import socket\ns = socket.socket(socket.{family}); s.connect(({host!r}, {port}))")
        assert said.startswith(("OSError", "ConnectionRefusedError")), said
    assert "unreachable" in tried(shell, "import socket\nsocket.create_connection(('192.0.2.1', 80), 2)").lower()
    assert tried(shell, "import socket\nsocket.getaddrinfo('example.com', 80)").startswith("gaierror")


@pytest.mark.parametrize("family", ["AF_VSOCK", "AF_NETLINK", "AF_PACKET", "AF_ALG"])
def test_no_other_families_of_sockets(shell: PipeLearner, family: str) -> None:
    said = tried(shell, f"import socket\nsocket.socket(socket.{family}, socket.SOCK_RAW)")
    assert "Address family not supported" in said


def test_a_unix_socket_of_the_machine_is_out_of_reach(shell: PipeLearner, tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as named, socket.socket(socket.AF_UNIX) as abstract:
        (path := str(tmp_path / "s"))
        named.bind(path)
        abstract.bind(f"\0{os.getpid()}-attack")
        named.listen()
        abstract.listen()
        for address in (path, f"\0{os.getpid()}-attack"):
            said = tried(shell, f"import socket\nsocket.socket(socket.AF_UNIX).connect({address!r})")
            assert said.startswith(("FileNotFoundError", "ConnectionRefusedError")), said


def test_the_process_holds_no_descriptor_but_its_own_socket(shell: PipeLearner) -> None:
    code = """
import os
answer = {}
for number in os.listdir("/proc/self/fd"):
    try: answer[number] = os.readlink("/proc/self/fd/" + number)
    except OSError: pass
"""
    held = shell.call("run", code).value
    assert len({what for what in held.values() if what.startswith("socket:")} - {held["3"]}) == 0
    assert {what.partition(":")[0] for what in held.values()} <= {"/dev/null", "socket", "anon_inode", "pipe"} | {
        what for what in held.values() if what.startswith("/proc/")
    }


CALLS = {
    "symlink": "import os\nos.symlink('/etc', '/tmp/link')",
    "fifo": "import os\nos.mkfifo('/tmp/fifo')",
    "device": "import os, stat\nos.mknod('/tmp/device', stat.S_IFCHR | 0o666, os.makedev(1, 3))",
    "memory file": "import os\nos.memfd_create('x')",
    "lease": "import fcntl\nfcntl.fcntl(open('/tmp/leased', 'w'), fcntl.F_SETLEASE, fcntl.F_WRLCK)",
    "user namespace": "import ctypes\nl = ctypes.CDLL(None, use_errno=True)\n"
    "if l.unshare(0x10000000): raise PermissionError(ctypes.get_errno())",
    "clone": "import ctypes\nl = ctypes.CDLL(None, use_errno=True)\n"
    "import platform\nnumber = 56 if platform.machine() == 'x86_64' else 220\n"
    "pid = l.syscall(number, 0x10000000 | 17, 0, 0, 0, 0)\n"
    "if pid == 0: l._exit(0)\n"
    "if pid < 0: raise PermissionError(ctypes.get_errno())",
    "mount": "import ctypes\nl = ctypes.CDLL(None, use_errno=True)\n"
    "if l.mount(b'none', b'/tmp', b'tmpfs', 0, None): raise PermissionError(ctypes.get_errno())",
    "trace": "import ctypes\nl = ctypes.CDLL(None, use_errno=True)\n"
    "if l.ptrace(16, 1, 0, 0): raise PermissionError(ctypes.get_errno())",
    "become root": "import os\nos.setuid(0)",
    "shared memory": "import ctypes\nl = ctypes.CDLL(None, use_errno=True)\n"
    "if l.shmget(0, 4096, 0o1600) < 0: raise PermissionError(ctypes.get_errno())",
}


@pytest.mark.parametrize("call", CALLS)
def test_calls_that_the_filter_refuses(shell: PipeLearner, call: str) -> None:
    # There may be no root to become.
    assert tried(shell, CALLS[call]).startswith(("PermissionError", "OSError: [Errno 22]"))
    assert still_works(shell)


def test_a_sudo_like_program_gives_no_rights(shell: PipeLearner) -> None:
    status = shell.call("run", "answer = open('/proc/self/status').read()").value
    fields = dict(line.split(":\t", 1) for line in status.splitlines() if ":\t" in line)
    assert [int(fields[name], 16) for name in ("CapEff", "CapPrm", "CapBnd", "CapInh", "CapAmb")] == [0] * 5
    assert (fields["NoNewPrivs"], fields["Seccomp"]) == ("1", "2")
    assert not {"0"} & set(fields["Uid"].split())


# -- what it can use up ----------------------------------------------------------------------------------


def test_a_fork_bomb_is_bounded(shell: PipeLearner) -> None:
    code = """
import os, time
answer = 0
while answer < 1000:
    try:
        if os.fork() == 0:
            time.sleep(60)
            os._exit(0)
        answer += 1
    except OSError:
        break
"""
    outcome = shell.call("run", code, seconds=10)
    if outcome.exception is None:
        assert outcome.value < 100
    else:  # so many of them took too much memory
        assert "memory" in outcome.exception.message
    assert shell.call("still").value == "here"


def test_threads_are_bounded(shell: PipeLearner) -> None:
    code = """
import threading, time
answer = 0
try:
    while answer < 1000:
        threading.Thread(target=time.sleep, args=(1,), daemon=True).start()
        answer += 1
except RuntimeError: pass
"""
    assert shell.call("run", code).value < 100
    time.sleep(1.2)


def test_memory_is_bounded(shell: PipeLearner) -> None:
    assert tried(shell, "x = b'x' * (10 << 30)").startswith("MemoryError")
    slowly = "x = []\nwhile True: x.append(bytearray(b'x') * (8 << 20))"
    assert tried(shell, slowly, seconds=20).startswith(("MemoryError", "ProcessEnded: It took more than"))
    assert still_works(shell)


def test_memory_of_several_processes_is_counted_together(shell: PipeLearner) -> None:
    code = """
import os, time
for _ in range(8):
    if os.fork() == 0:
        x = bytearray(b"x") * (400 << 20)
        time.sleep(60)
time.sleep(30)
"""
    assert tried(shell, code, seconds=30).startswith("ProcessEnded: It took more than 1,536 MB of memory")
    assert still_works(shell)


def test_the_disk_cannot_be_filled(shell: PipeLearner) -> None:
    code = """
import os
answer = 0
try:
    for number in range(1000):
        with open(f"/tmp/{'big'}{number}", "wb") as file:
            for _ in range(16):
                answer += file.write(b"x" * (1 << 20))
except OSError: pass
for number in range(1000):
    try: os.unlink(f"/tmp/big{number}")
    except OSError: break
"""
    assert shell.call("run", code, seconds=20).value <= 64 << 20
    many = """
import os
os.mkdir("/tmp/many")
answer = 0
try:
    for answer in range(100_000): open(f"/tmp/many/{answer}", "w").close()
except OSError: pass
import shutil
shutil.rmtree("/tmp/many")
"""
    assert shell.call("run", many, seconds=20).value < 5_000


def test_descriptors_are_bounded(shell: PipeLearner) -> None:
    code = (
        "import os\nopen_ = []\ntry:\n    while len(open_) < 5000: open_.append(os.open('/dev/null', 0))\n"
        "except OSError: pass\nanswer = len(open_)\nfor each in open_: os.close(each)"
    )
    assert shell.call("run", code).value < 300


def test_a_process_that_never_returns_and_swallows_all_signals_is_killed(shell: PipeLearner) -> None:
    code = """
import signal, time
for number in signal.valid_signals():
    try: signal.signal(number, signal.SIG_IGN)
    except (OSError, ValueError): pass
while True:
    try:
        while True: time.sleep(0.01)
    except BaseException: pass
"""
    assert tried(shell, code, seconds=0.3).startswith("TimeLimit")
    assert still_works(shell)


def test_processes_that_daemonise_end_with_it(sandbox: Sandbox) -> None:
    code = """
import os, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        open("/tmp/daemon", "w").close()
        while True: time.sleep(0.05)
    os._exit(0)
while not os.path.exists("/tmp/daemon"): time.sleep(0.01)
answer = [name for name in os.listdir("/proc") if name.isdigit()]
"""
    with sandbox.learner([RUN]) as learner:
        assert len(learner.call("run", code).value) >= 2
        learner.call("run", "import os\nos._exit(0)")
        # The new process sees the same /tmp, and nobody of before.
        assert learner.call("run", "import os\nanswer = os.path.exists('/tmp/daemon')").value is True
        assert learner.call("run", "answer = [n for n in __import__('os').listdir('/proc') if n.isdigit()]").value == [
            "1"
        ]


def test_time_for_a_notebook_is_bounded_whatever_its_calls_take(sandbox: Sandbox) -> None:
    begun = time.monotonic()
    with (
        sandbox.learner(["import time\ndef slow(): time.sleep(3)"], seconds=2) as learner,
        pytest.raises(NotGradable, match="2 seconds that a notebook may take"),
    ):
        while time.monotonic() < begun + 60:
            learner.call("slow")
    with pytest.raises(NotGradable, match="1 seconds that a notebook may take"):
        sandbox.learner(["while True: pass"], seconds=1)


def test_gigabytes_of_output_are_cut(sandbox: Sandbox) -> None:
    cells = ["for _ in range(300): print('x' * 1_000_000)", "def loud():\n    while True: print('spam ' * 10_000)"]
    with sandbox.learner(cells) as learner:
        assert learner.cell_results[0].error == ""
        outcome = learner.call("loud", seconds=0.5)
        assert outcome.exception is not None and outcome.exception.name == "TimeLimit"
        assert len(outcome.stdout) < 30_000


@pytest.mark.parametrize("code", ["import os\nos._exit(0)", "raise SystemExit", "input()", "import os\nos.abort()"])
def test_leaving_is_no_answer(shell: PipeLearner, code: str) -> None:
    assert tried(shell, code).split(":")[0] in ("ProcessEnded", "SystemExit", "EOFError")
    assert still_works(shell)


# -- what it can say -------------------------------------------------------------------------------------


def marked(sandbox: Sandbox, cells: list[str], exercise: str, answer: Any = None) -> Result:
    asked = checks.find_exercise(exercise)
    with sandbox.learner([SET_UP, *cells], answer, lesson=asked.lesson) as learner:
        return run_check(asked, learner)


#: Leave no byte, or no file, for anybody else.
FILLS = {
    "64 MB": "with open('fill', 'wb', buffering=0) as file:\n    while file.write(b'x' * (1 << 12)): pass",
    "4,000 files": "while True: open(f'{(number := number + 1)}', 'w').close()",
}
FILL = """
number = 0
for name in "abc":  # no file may be as long as all that there is room for
    try: exec(code.replace("fill", name))
    except OSError: pass
"""


@pytest.mark.parametrize("exercise", ["save_session", "load_session", "SqliteStore"])
@pytest.mark.parametrize("fill", FILLS)
def test_who_fills_the_disk_is_told_so(sandbox: Sandbox, fill: str, exercise: str) -> None:
    cells = ["".join(cell["source"]) for cell in answered("06_persistence")["cells"] if cell["cell_type"] == "code"]
    result = marked(sandbox, [f"code = {FILLS[fill]!r}" + FILL, *cells], exercise)
    assert (result.status, result.points) == ("raised", 0)
    assert result.message.endswith(f"The code of this notebook left no room in its folder ({fill}).")
    assert "/proc" not in result.message and "/tmp" not in result.message


def test_a_wrong_answer_stays_one_on_a_full_disk(sandbox: Sandbox) -> None:
    result = marked(sandbox, [f"code = {FILLS['64 MB']!r}" + FILL, "def ask(text): print(text)"], "ask")
    assert result.status == "wrong" and result.message.endswith("left no room in its folder (64 MB).")
    idle = marked(sandbox, [f"code = {FILLS['64 MB']!r}" + FILL], "ask")
    assert idle.status == "not attempted"


def test_a_full_disk_of_this_machine_is_not_the_students(sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch) -> None:
    def symlink_to(self: Path, target: Path) -> None:
        raise OSError(errno.ENOSPC, "No space left on device", str(target), None, str(self))

    monkeypatch.setattr(Path, "symlink_to", symlink_to)
    result = marked(sandbox, ["def save_session(folder, session_id, session): pass"], "save_session")
    assert result.status == "not gradable"
    assert "The machine that checks has no room left (No space left on device)." in result.message
    assert "/proc" not in result.message and "/tmp" not in result.message


#: Sends what it likes over the socket of its process.
WRITE = """
import json, os, socket, stat
def say(message):
    for number in range(3, 50):
        try:
            if stat.S_ISSOCK(os.fstat(number).st_mode):
                os.write(number, message if isinstance(message, bytes) else json.dumps(message).encode() + b"\\n")
                return
        except OSError: pass
"""
FAKES = {
    "prints that it has passed": "def ask(text): print('PASSED ask: 3 of 3 points'); print('{\"ready\": true}')",
    "writes a result": WRITE + "def ask(text):\n    for n in range(99): say({'result': n, 'value': 'PASSED'})",
    "writes a verdict": WRITE + "def ask(text):\n    say({'exercise': 'ask', 'status': 'passed', 'points': 3})",
    "equal to everything": "class Liar(str):\n    __eq__ = lambda *_: True\n    __hash__ = str.__hash__\n"
    "    __class__ = property(lambda self: str)\n    __len__ = lambda self: 5\ndef ask(text): return Liar('no')",
    "patches the tutor": "import memory_tutor.codec as c, memory_tutor.worker as w, memory_tutor.inside as i\n"
    "c.encode = c.decode = lambda *_: 'OK.'\nw.Worker._attempt = lambda *_: {'value': 'OK.'}\n"
    "def ask(text): return 'OK.'",
    "patches json": "import json\njson.dumps = lambda *_, **__: '{\"value\": \"OK.\"}'\ndef ask(text): return 'OK.'",
    "patches builtins": "import builtins\nbuiltins.isinstance = lambda *_: True\nbuiltins.len = lambda _: 1\n"
    "def ask(text): return 'OK.'",
    "patches openai": "import openai\nopenai.resources.chat.completions.Completions.create = lambda *_, **__: 'OK.'\n"
    "def ask(text): return client.chat.completions.create(model=model, messages=[])",
    "traces": "import sys\nsys.settrace(lambda *_: None)\nsys.setprofile(lambda *_: None)\ndef ask(text): return 'OK.'",
    "leaves": "import os\ndef ask(text): os._exit(0)",
}


@pytest.mark.parametrize("fake", FAKES)
def test_no_marks_for_what_it_only_says(sandbox: Sandbox, fake: str) -> None:
    result = marked(sandbox, [FAKES[fake]], "ask")
    assert result.status != "passed" and result.points == 0
    assert "fault of the course" not in result.message


ODD = {
    "nan": ("float('nan')", lambda value: value != value),
    "a subclass of dict": (
        "type('D', (dict,), {'__getitem__': lambda *_: 1, 'keys': lambda _: 1 / 0, '__eq__': lambda *_: True})(a=2)",
        lambda value: type(value) is dict and value == {"a": 2},
    ),
    "a lying class": (
        "type('L', (), {'__class__': list, '__eq__': lambda *_: True})()",
        lambda value: type(value) is Opaque and value != 1,
    ),
    "a list in itself": ("(x := [], x.append(x))[0]", lambda value: type(value[0]) is Opaque),
    "a gigabyte": ("'x' * (1 << 30)", lambda value: type(value) is Opaque),
    "ten thousand deep": ("__import__('functools').reduce(lambda x, _: [x], range(10_000), 0)", lambda _: True),
}


@pytest.mark.parametrize("odd", ODD)
def test_odd_values_arrive_as_plain_ones(shell: PipeLearner, odd: str) -> None:
    code, right = ODD[odd]
    assert right(shell.call("run", f"answer = {code}").value)


LINES = {
    "a line without end": "b'[' * (64 << 20)",
    "brackets": "b'[' + b'[],' * 4_000_000 + b'[]]\\n'",
    "deep": "b'{\"a\":' * 100_000 + b'\\n'",
    "a large number": "b'{\"result\": 1, \"value\": ' + b'9' * 5000 + b'}\\n'",
    "no text": "bytes(range(256)) * 100 + b'\\n'",
    "a question nobody asks": 'b\'{"ask": "callback", "id": 1, "number": 0, "name": "__class__"}\\n\'',
}


@pytest.mark.parametrize("line", LINES)
def test_nonsense_costs_no_memory_and_is_not_gradable(sandbox: Sandbox, line: str) -> None:
    with sandbox.learner([WRITE, f"def flood(): say({LINES[line]})", RUN]) as learner:
        with pytest.raises((NotGradable, LearnerRaised)):
            _ = learner.call("flood", seconds=5).value
        assert still_works(learner)


#: Is put into each report of the process.
SPOILT = {
    "a handle without end": 'm["handle"] = float("inf")',
    "no arguments": 'm["args"], m["kwargs"] = [], {}',
    "others' arguments": 'm["kwargs"] = {"of": 1}',
    "a line without end": 'm["exception"] = {"names": ["E"], "message": "", "line": "", "line_number": 10**4000}',
}
SPOIL = """
import memory_tutor.process as p
send = p.Office.send
def spoilt(self, m):
    if "result" in m:
        {code}
    send(self, m)
p.Office.send = spoilt
"""


@pytest.mark.parametrize("spoilt", SPOILT)
def test_a_report_that_cannot_be_is_no_fault_of_the_courses(sandbox: Sandbox, spoilt: str) -> None:
    result = marked(sandbox, [SPOIL.format(code=SPOILT[spoilt]), "def say(history, text): pass"], "say")
    assert (result.status, result.points) == ("not gradable", 0)
    assert "What the process of this notebook sends cannot be read." in result.message


def test_what_it_says_can_be_written_to_any_file(sandbox: Sandbox) -> None:
    code = (
        WRITE
        + """
def f():
    raised = {"names": ["\\ud800" * 500] * 99, "message": "\\udfff" + "x" * 10**6, "line": "\\ud800", "line_number": 1}
    say({"result": 1, "exception": raised, "stdout": "\\ud800" * 10**5})
    while True: pass
"""
    )
    with sandbox.learner([code]) as learner:
        outcome = learner.call("f", seconds=1)
        with pytest.raises(LearnerRaised) as told:
            _ = outcome.value
    assert len(told.value.message.encode("utf-8")) < 10_000
    assert len(outcome.stdout.encode("utf-8")) < 500_000


def test_what_it_sends_is_bounded_in_all(sandbox: Sandbox) -> None:
    code = WRITE + (
        "line = json.dumps({'ask': 'http', 'method': 'GET', 'path': '/' + 'x' * 1_000_000, 'body': None, 'id': 1})\n"
        "def flood():\n    while True: say(line.encode() + b'\\n')"
    )
    with sandbox.learner([code, RUN]) as learner:
        outcome = learner.call("flood", seconds=30)
        assert outcome.exception is not None
        assert outcome.exception.message == "It sent more than can be looked at, and was stopped."


def test_the_answer_to_the_lesson_itself_is_not_lent(sandbox: Sandbox) -> None:
    cells = [
        "import memory_tutor\ntutor = memory_tutor.start('08_capstone')",
        "Assistant = tutor.reference('Assistant')",
        "other = tutor.reference('SqliteStore')",
        "mine = tutor.answer('Assistant')",
    ]
    with sandbox.learner([SET_UP, *cells], lesson="08_capstone") as learner:
        errors = [result.error for result in learner.cell_results]
    assert errors[1] == ""
    assert all("is not to be had where 08_capstone is marked" in error for error in errors[2:])


def test_what_the_lesson_builds_on_is_lent(sandbox: Sandbox) -> None:
    cell = "import memory_tutor\ntutor = memory_tutor.start('07_frameworks')\ntrim = tutor.reference('trim_messages')"
    with sandbox.learner([SET_UP, cell, "def f(m): return trim(m, 0)"], lesson="07_frameworks") as learner:
        system = {"role": "system", "content": "s"}
        assert learner.call("f", [system, {"role": "user", "content": "u"}]).value == [system]


def test_requests_of_cells_are_answered_and_seen_outside(sandbox: Sandbox) -> None:
    seen: list[Any] = []

    def answer(request: Request) -> Response:
        seen.append(request.body)
        raise OSError("no answer")

    cell = "client.chat.completions.create(model=model, messages=[{'role': 'user', 'content': 'hello'}])"
    with sandbox.learner([SET_UP, cell], answer) as learner:
        assert learner.cell_results[1].error
    assert seen[0]["messages"] == [{"role": "user", "content": "hello"}]


# -- files that a check looks at -------------------------------------------------------------------------


def test_a_folder_in_common_leads_to_no_file_of_the_teachers(shell: PipeLearner, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("secret", encoding="utf-8")
    folder = shell.folder()
    for code in (
        f"import os\nos.symlink({str(secret)!r}, {folder + '/x'!r})",
        f"import os\nos.link({str(secret)!r}, {folder + '/x'!r})",
        f"import os\nos.link('/proc/1/exe', {folder + '/x'!r})",
        f"import os\nos.mkfifo({folder + '/x'!r})",
        f"import os\nos.rmdir({folder!r})\nos.symlink('/', {folder!r})",
    ):
        assert tried(shell, code).split(":")[0] in ("PermissionError", "FileNotFoundError", "OSError")
    Path(shell.folder(), "given").write_text("by the check", encoding="utf-8")


def test_a_journal_makes_nobody_delete_a_file_of_the_teachers(shell: PipeLearner, tmp_path: Path) -> None:
    """SQLite deletes the journal of several files that the journal beside a file names, when the file is opened."""
    from memory_tutor.checks import databases

    target = tmp_path / "grades.csv"
    target.write_text("ada,15", encoding="utf-8")
    folder = shell.folder()
    make = f"""
import sqlite3, struct, os
path = {folder + "/chats.db"!r}
c = sqlite3.connect(path); c.execute("CREATE TABLE t (x)"); c.commit(); c.close()
data = open(path, "rb").read()
name = {str(target)!r}.encode()
magic = bytes.fromhex("d9d505f920a163d7")
header = magic + struct.pack(">iIIII", 0, 1, len(data) // 4096, 512, 4096)
tail = struct.pack(">I", 0x40000000 // 4096 + 1) + name + struct.pack(">II", len(name), sum(name)) + magic
open(path + "-journal", "wb").write(header.ljust(512, b"\\0") + tail)
answer = os.path.exists(path + "-journal")
"""
    assert shell.call("run", make).value is True
    assert shell.aside(databases.count_rows, f"{folder}/chats.db") == [0]
    assert target.read_text(encoding="utf-8") == "ada,15"


def test_a_file_of_theirs_is_no_module_of_what_looks_at_their_files(shell: PipeLearner) -> None:
    from memory_tutor.checks import databases

    path = f"{shell.folder()}/chats.db"
    write = f"""
import sqlite3, os, sys
c = sqlite3.connect({path!r}); c.execute("CREATE TABLE t (x)"); c.commit(); c.close()
for name in sys.stdlib_module_names:
    with open(f"/tmp/notebook/{{name}}.py", "w") as file: file.write("open('/tmp/imported', 'w').close()")
"""
    assert tried(shell, write) == "None"
    try:
        assert shell.aside(databases.count_rows, path) == [0]
        assert shell.call("run", "import os\nanswer = os.path.exists('/tmp/imported')").value is False
    finally:
        shell.call("run", "import glob, os\nfor each in glob.glob('/tmp/notebook/*.py'): os.unlink(each)")


# -- where there is no sandbox ---------------------------------------------------------------------------


def test_without_bubblewrap_every_report_can_say_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sandboxes.shutil, "which", lambda _: None)
    with pytest.raises(sandboxes.SandboxMissing, match=r"bubblewrap is not installed(.|\n)*apt-get install bubblewrap"):
        sandboxes.open_sandbox(require=True).__enter__()
    monkeypatch.setenv("A_SECRET", "of the teacher's")
    with sandboxes.open_sandbox() as opened, opened.learner([RUN], seconds=60) as learner:
        assert opened.isolation.startswith("NOT ISOLATED (bubblewrap is not installed)")
        assert "\n" not in opened.isolation
        assert learner.call("run", "import os\nanswer = os.environ.get('A_SECRET')").value is None
        if sys.platform == "linux":
            assert tried(learner, "x = b'x' * (10 << 30)").startswith("MemoryError")


#: Leaves the group and the session of its process, with its own environment, and says who it is.
DAEMON = """
import os, sys, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        with open("who.part", "w") as file: file.write(str(os.getpid()))
        os.rename("who.part", "who")
        os.execve(sys.executable, [sys.executable, "-c", "import time; time.sleep(600)"], {})
    os._exit(0)
while not os.path.exists("who"): time.sleep(0.01)
answer = int(open("who").read())
"""


def lives(number: int) -> bool:
    """Whether there is a process; one that has ended lives no more, also where nobody has waited for it."""
    try:
        return Path(f"/proc/{number}/stat").read_text(encoding="ascii").rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere nobody can tell whose it is, and the report says so")
def test_without_bubblewrap_a_daemon_ends_with_its_notebook(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sandboxes.shutil, "which", lambda _: None)
    with (
        subprocess.Popen([sys.executable, "-c", "import sys; sys.stdin.read()"], stdin=subprocess.PIPE) as ours,
        sandboxes.open_sandbox() as opened,
        opened.learner([RUN], seconds=60) as other,
    ):
        with opened.learner([RUN], seconds=60) as learner:
            daemon = learner.call("run", DAEMON).value
            assert lives(daemon)
        assert not lives(daemon)
        assert ours.poll() is None and still_works(other), "what others have started is left alone"


@pytest.mark.parametrize(("system", "said"), [("linux", False), ("darwin", True), ("win32", True)])
def test_what_is_not_isolated_is_named(monkeypatch: pytest.MonkeyPatch, system: str, said: bool) -> None:
    monkeypatch.setattr(sandboxes.sys, "platform", system)
    told = sandboxes._Open("bubblewrap is not installed").isolation
    assert "files and network included" in told and "\n" not in told
    assert told.endswith("What it has started may be running still.") is said


@pytest.mark.skipif(sys.platform == "win32", reason="a path is too long there long before")
def test_without_bubblewrap_folders_within_folders_are_no_fault(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(sandboxes.shutil, "which", lambda _: None)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    deep = "import os\nfor _ in range(1500):\n    os.mkdir('d')\n    os.chdir('d')\nanswer = True"
    try:
        with sandboxes.open_sandbox() as opened, opened.learner([RUN], seconds=60) as learner:
            assert learner.call("run", deep).value is True
    finally:  # pytest cannot remove them either, and would fail in each run to come
        subprocess.run(["rm", "-rf", *tmp_path.iterdir()], check=True)


def test_a_sandbox_that_was_killed_is_opened_anew() -> None:
    if not seccomp.is_possible() or shutil.which("bwrap") is None:
        pytest.skip("bubblewrap is not installed")
    with sandboxes.open_sandbox(require=True) as opened:
        assert isinstance(opened, sandboxes._Warm)
        opened._popen.kill()
        opened._popen.wait()
        with opened.learner([RUN]) as learner:
            assert still_works(learner)


def test_a_bubblewrap_that_does_not_work_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    if sys.platform != "linux":
        pytest.skip("bubblewrap is Linux's")
    monkeypatch.setattr(sandboxes.shutil, "which", lambda _: "/bin/false")
    with sandboxes.open_sandbox() as opened:
        assert opened.isolation.startswith("NOT ISOLATED (bubblewrap does not work here")
