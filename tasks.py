"""The tasks of this project, for a machine that has Python, pip and git and nothing else.

    python3 tasks.py run [ARGUMENTS of checkrein run]     the kit on the pinned real harnesses
    python3 tasks.py test [ARGUMENTS of pytest]           the tests of this project, side by side where there are no
                                                          arguments
    python3 tasks.py check                                ruff, formatting and pyright
    python3 tasks.py clean                                removes what these tasks made in this folder, kept runs too

The first use makes `.venv` beside this file; later uses find it as it is. Only the standard library is used here, and
no syntax that an older Python would stumble over before it can be told that it is too old.
"""

import errno
import fcntl
import hashlib
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent
VENV = ROOT / ".venv"
PYTHON = VENV / "bin" / "python"
STAMP = VENV / "checkrein-setup.json"

#: Exit statuses, the same as those of `checkrein`.
FAILED, USAGE, ENVIRONMENT_MISSING, INTERRUPTED = 1, 2, 3, 130

if sys.version_info < (3, 11):  # noqa: UP036 - an older Python has to be told, before it meets what it cannot read
    sys.stderr.write(
        "tasks: Python 3.11 or newer is needed; %s is %d.%d.%d\n" % ((sys.executable,) + sys.version_info[:3])  # noqa: UP031, RUF005 - for Pythons of any age
    )
    sys.exit(ENVIRONMENT_MISSING)

#: How many processes run the whole test suite. Each runs real harnesses, of 200 MB and more.
MOST_WORKERS = 4

#: Seconds to wait for another process that sets up the same `.venv`: a first setup on a slow line takes minutes.
SETUP_DEADLINE_SECONDS = 1800
#: flock can wait without a deadline or not wait, nothing between: so it is tried this often, in seconds.
LOCK_POLL_SECONDS = 0.5

#: pip's words for "the index could not be reached", by cause.
NO_NETWORK = (
    "Failed to establish a new connection|Temporary failure in name resolution|Connection refused"
    "|Network is unreachable|ConnectTimeout|ProxyError|NewConnectionError|NameResolutionError"
)
#: What pip's words mean, in the order in which they are looked for.
PIP_FAULTS = (
    (r"No space left on device|Disk quota exceeded", "the disk is full: free about 1 GB and run this again"),
    (NO_NETWORK, "pip could not reach its index: check the network and HTTPS_PROXY, then run this again"),
    (r"Permission denied", "pip may not write: see its words above"),
)


class Stop(Exception):
    """Raised when a task cannot go on; holds one line for the person and the exit status."""

    def __init__(self, line: str, status: int) -> None:
        super().__init__(line)
        self.status = status


def main(arguments: list[str]) -> int:
    """Run one task; returns its exit status, unless the task's program took this process over."""
    task, rest = (arguments[0], arguments[1:]) if arguments else ("", [])
    if task == "run":
        set_up(with_dev_tools=False)
        return become([str(VENV / "bin" / "checkrein"), "run", *rest])
    if task == "test":
        set_up(with_dev_tools=True)
        os.chdir(str(ROOT))
        return become([str(PYTHON), "-m", "pytest", *(rest or whole_suite())])
    if task == "check" and not rest:
        set_up(with_dev_tools=True)
        return check()
    if task == "clean" and not rest:
        return clean()
    print(__doc__)
    return 0 if task in ("-h", "--help", "help") else USAGE


def set_up(with_dev_tools: bool) -> None:
    """Make `.venv` hold this project and what it needs, if it does not yet; one process at a time.

    Args:
        with_dev_tools: also what the tests and checks need.
    """
    groups = ["run", "dev"] if with_dev_tools else ["run"]
    with (ROOT / ".venv.lock").open("w") as lock:
        wait_for(lock.fileno())
        key = setup_key()
        done = finished_groups(key)
        if set(groups) <= set(done):
            return
        if not python_works():
            make_venv()
        groups = sorted(set(groups) | set(done))
        say(
            f"installing Checkrein and what it needs into {VENV.relative_to(ROOT)} (once; a few minutes on a slow line)"
        )
        requirements = ["--editable", str(ROOT)]
        if "dev" in groups:
            requirements += development_requirements()
        pip_install(requirements)
        STAMP.write_text(json.dumps({"key": key, "groups": groups}))


def wait_for(descriptor: int) -> None:
    """Take the lock on setting up; the kernel frees it when its holder ends, however that ends."""
    limit = time.monotonic() + SETUP_DEADLINE_SECONDS
    told = False
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except BlockingIOError:
            if time.monotonic() > limit:
                raise Stop(
                    "another tasks.py has been setting up for too long: end it, then run this again", FAILED
                ) from None
        if not told:
            say("waiting for another tasks.py that sets up the same folder")
            told = True
        time.sleep(LOCK_POLL_SECONDS)


def setup_key() -> str:
    """What the content of `.venv` depends on: the project's metadata, its place, and the Python."""
    facts = [(ROOT / "pyproject.toml").read_bytes(), str(ROOT).encode(), sys.version.encode()]
    return hashlib.sha256(b"\0".join(facts)).hexdigest()


def finished_groups(key: str) -> list[str]:
    """Which groups of requirements an earlier, finished setup with the same key has installed."""
    try:
        stamp = json.loads(STAMP.read_text())
    except (OSError, ValueError):
        return []
    if stamp.get("key") != key or not python_works():
        return []
    return list(stamp.get("groups", []))


def python_works() -> bool:
    """Whether `.venv` holds a Python that runs: it does not after the Python it was made from has gone."""
    if not PYTHON.exists():
        return False
    tried = subprocess.run(
        [str(PYTHON), "-m", "pip", "--version"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    return tried.returncode == 0


def make_venv() -> None:
    """Make `.venv` anew."""
    if importlib.util.find_spec("venv") is None or importlib.util.find_spec("ensurepip") is None:
        raise Stop(
            f"{sys.executable} lacks the venv module: install it (on Debian and Ubuntu the package python3-venv)",
            ENVIRONMENT_MISSING,
        )
    say(f"making {VENV.relative_to(ROOT)} with {sys.executable}")
    made = subprocess.run(
        [sys.executable, "-m", "venv", "--clear", str(VENV)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    if made.returncode != 0:
        words = made.stdout.decode(errors="replace").strip()
        raise Stop(
            f"the virtual environment could not be made: {words.splitlines()[-1] if words else '?'}", FAILED
        )


def development_requirements() -> list[str]:
    """The requirements of the group `dev`: read here, since the pip of a new environment may not know groups."""
    import tomllib

    return list(tomllib.loads((ROOT / "pyproject.toml").read_text())["dependency-groups"]["dev"])


def pip_install(requirements: list[str]) -> None:
    """Run pip; its progress is shown as it comes, and its errors are put into one line at the end."""
    environment = {
        name: value for name, value in os.environ.items() if name not in ("PYTHONHOME", "PYTHONPATH")
    }
    environment.update(PIP_USER="0", PIP_DISABLE_PIP_VERSION_CHECK="1", PIP_NO_INPUT="1")
    command = [str(PYTHON), "-m", "pip", "install", *requirements]
    errors: list[str] = []
    with subprocess.Popen(
        command, env=environment, stderr=subprocess.PIPE, text=True, errors="replace"
    ) as pip:
        assert pip.stderr is not None  # asked for above
        for line in pip.stderr:
            sys.stderr.write(line)
            errors.append(line)
    if pip.returncode == 0:
        return
    words = "".join(errors[-200:])
    for pattern, advice in PIP_FAULTS:
        if re.search(pattern, words):
            raise Stop(advice, ENVIRONMENT_MISSING)
    raise Stop(f"pip failed with exit status {pip.returncode}; its words are above", FAILED)


def whole_suite() -> list[str]:
    """The arguments of pytest for all tests: one process more than the cores that this one may use, within bounds.

    The tests of real harnesses wait for half of their time. tests/conftest.py says in which order they are handed out.
    """
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return ["-n", str(min(cores + 1, MOST_WORKERS))]


def check() -> int:
    """Run every check, all of them even when one fails."""
    programs = VENV / "bin"
    checks = (
        ("ruff check", [str(programs / "ruff"), "check", "."]),
        ("ruff format", [str(programs / "ruff"), "format", "--check", "."]),
        ("pyright", [str(programs / "pyright"), "--project", str(ROOT / ".typing")]),
    )
    failed: list[str] = []
    for name, command in checks:
        say(name)
        if subprocess.run(command, cwd=str(ROOT), env=task_environment()).returncode != 0:
            failed.append(name)
    if failed:
        raise Stop(f"not clean: {', '.join(failed)}", FAILED)
    return 0


def clean() -> int:
    """Remove what the tasks made in this folder; installed harnesses stay in their cache."""
    made = [
        VENV,
        ROOT / ".venv.lock",
        ROOT / ".checkrein",
        ROOT / "build",
        ROOT / "dist",
        ROOT / ".pytest_cache",
        ROOT / ".ruff_cache",
    ]
    made += sorted(ROOT.glob("*.egg-info"))
    for folder in ("adapters", "conformance", "fixtures", "scripted_models", "tests"):
        made += sorted((ROOT / folder).rglob("__pycache__"))
    made.append(ROOT / "__pycache__")
    for path in made:
        if path.is_symlink() or path.is_file():
            path.unlink()
        elif path.is_dir():
            shutil.rmtree(str(path))
        else:
            continue
        say(f"removed {path.relative_to(ROOT)}")
    return 0


def become(command: list[str]) -> int:
    """Replace this process by the command: its signals and its exit status are then its own."""
    sys.stdout.flush()
    sys.stderr.flush()
    os.execve(command[0], command, task_environment())


def task_environment() -> dict[str, str]:
    """The environment with the programs of `.venv` first."""
    environment = dict(os.environ)
    environment["VIRTUAL_ENV"] = str(VENV)
    environment["PATH"] = str(VENV / "bin") + os.pathsep + environment.get("PATH", os.defpath)
    environment.pop("PYTHONHOME", None)
    return environment


def say(line: str) -> None:
    """Tell the person which step begins."""
    print(f"tasks: {line}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except Stop as stop:
        say(str(stop))
        sys.exit(stop.status)
    except KeyboardInterrupt:
        say("stopped")
        sys.exit(INTERRUPTED)
    except OSError as fault:
        if fault.errno not in (errno.ENOSPC, errno.EDQUOT, errno.EACCES, errno.EPERM, errno.EROFS):
            raise
        say(f"{fault.filename or ROOT}: {fault.strerror}")
        sys.exit(ENVIRONMENT_MISSING)
