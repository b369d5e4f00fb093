"""The guard: a small process between a driver and a harness, by which everything below it dies with the driver.

Run by `python -I -S` with the arguments CONTROL_FD STATUS_FD DRIVER_PID; standard library only. It stands between
them because

* a parent-death signal set in the driver's own child fires when the *thread* that forked it ends, and trio and
  asyncio fork in worker threads; the guard has one thread;
* a child subreaper keeps every descendant below it, also one that called setsid or forked twice; in the host program
  that would change the host's behaviour;
* when the driver is killed by SIGKILL, somebody must be left to clean up.

It reads one launch order from CONTROL_FD (`read_order`), starts the harness in its own session with the standard
streams that it inherited, and lets go of these. Then it takes commands from CONTROL_FD and reports on STATUS_FD, both
as JSON lines:

    > {"id": 1, "command": "list"}
    > {"id": 2, "command": "sweep", "keep": [pid, ...], "harness": false}
    > {"id": 3, "command": "signal", "number": 15, "to": "cli" | "group" | "all"}
    < {"event": "started", "pid": 7, "create_time": 1.5}
    < {"event": "failed", "stage": "chdir" | "exec", "errno": 2}
    < {"event": "exited", "code": 0}                       (negative: killed by that signal)
    < {"event": "reply", "id": 1, "processes": [...], "survivors": [...]}   (for a sweep: killed, and still alive)

When CONTROL_FD reports the end of the stream, or the driver is gone, or it is asked by SIGTERM, it sends SIGTERM to
the harness's group, waits for `TERM_GRACE_SECONDS`, sends SIGKILL to all that is left below it until nothing is, and
exits. If it is killed by SIGKILL itself, the harness dies by its parent-death signal (Linux).
"""

# Loading pathlib would delay the start of every harness by some 10 ms.
# ruff: noqa: PTH119, PTH123, PTH208

from __future__ import annotations

import ctypes
import os
import select
import signal
import sys
import time

LINUX = sys.platform == "linux"
#: some builds of Python for Linux lack these calls, as their C headers were older than Linux 5.3
HAS_HANDLES = hasattr(os, "pidfd_open") and hasattr(signal, "pidfd_send_signal")
#: how long the harness may take to end after SIGTERM when the driver is gone
TERM_GRACE_SECONDS = 0.5
#: how long a killed process may take to disappear before it is given up (another user's, or stuck in the kernel)
KILL_SECONDS = 5.0
#: how much of a command line is reported
CMDLINE_BYTES = 4096

PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36


class Seen:
    """One process of the process table."""

    __slots__ = ("group", "name", "parent", "pid", "session", "started", "state")

    def __init__(
        self, pid: int, parent: int, group: int, session: int, state: str, name: str, started: float
    ) -> None:
        self.pid = pid
        self.parent = parent
        self.group = group
        self.session = session
        self.state = state
        self.name = name
        self.started = started

    @property
    def alive(self) -> bool:
        return self.state not in ("Z", "X")

    def described(self) -> dict[str, object]:
        return {
            "pid": self.pid,
            "parent_pid": self.parent,
            "name": self.name,
            "cmdline": read_cmdline(self.pid),
            "create_time": self.started,
            "session_id": self.session,
        }


def read_cmdline(pid: int) -> list[str]:
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            raw = file.read(CMDLINE_BYTES)
    except OSError:
        return []
    return [part.decode("utf-8", "replace") for part in raw.rstrip(b"\0").split(b"\0")] if raw else []


def boot_time() -> float:
    with open("/proc/stat", "rb") as file:
        for line in file:
            if line.startswith(b"btime"):
                return float(line.split()[1])
    return 0.0


def read_stat(pid: int, boot: float) -> Seen | None:
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            raw = file.read()
    except OSError:
        return None
    # The name stands in parentheses and may hold any byte, parentheses and spaces included.
    opened, closed = raw.find(b"("), raw.rfind(b")")
    fields = raw[closed + 2 :].split()
    return Seen(
        pid,
        int(fields[1]),
        int(fields[2]),
        int(fields[3]),
        fields[0].decode(),
        raw[opened + 1 : closed].decode("utf-8", "replace"),
        int(fields[19]) / os.sysconf("SC_CLK_TCK") + boot,
    )


def process_table() -> list[Seen]:
    if not LINUX:
        return process_table_by_ps()
    boot = boot_time()
    table: list[Seen] = []
    # A parent that ends while the table is read leaves its child cut off from the tree: read again. More than a few
    # times would be in vain, where /proc hides the processes of others.
    for _ in range(3):
        seen = (read_stat(int(entry), boot) for entry in os.listdir("/proc") if entry.isdigit())
        table = [process for process in seen if process is not None]
        pids = {process.pid for process in table}
        if all(process.parent in pids or process.parent == 0 for process in table):
            break
    return table


def process_table_by_ps() -> list[Seen]:
    """The process table of a system without /proc."""
    import subprocess

    command = ["ps", "-A", "-o", "pid=,ppid=,pgid=,stat=,lstart=,comm="]
    environment = {"LC_ALL": "C", "PATH": "/usr/bin:/bin"}
    listing = subprocess.run(command, env=environment, capture_output=True, check=False)
    return parse_ps(listing.stdout.decode("utf-8", "replace"))


def parse_ps(listing: str) -> list[Seen]:
    """Read what ps prints; it does not tell sessions (the group stands in), and start times are whole seconds."""
    table: list[Seen] = []
    for line in listing.splitlines():
        fields = line.split(None, 9)
        if len(fields) == 10:
            started = time.mktime(time.strptime(" ".join(fields[4:9]), "%a %b %d %H:%M:%S %Y"))
            pid, parent, group = int(fields[0]), int(fields[1]), int(fields[2])
            table.append(Seen(pid, parent, group, group, fields[3][0], os.path.basename(fields[9]), started))
    return table


def prctl(option: int, value: int) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    if (
        libc.prctl(option, ctypes.c_ulong(value), ctypes.c_ulong(0), ctypes.c_ulong(0), ctypes.c_ulong(0))
        != 0
    ):
        raise OSError(ctypes.get_errno(), "prctl")


class Order:
    """What to start: fields of bytes, so that names and arguments of any encoding pass unchanged."""

    __slots__ = ("argv", "cwd", "environment", "executable")

    def __init__(self, fields: list[bytes]) -> None:
        self.cwd, self.executable = fields[0], fields[1]
        count = int(fields[2])
        self.argv = fields[3 : 3 + count]
        self.environment: dict[bytes, bytes] = {}
        for entry in fields[3 + count :]:
            name, _, value = entry.partition(b"=")
            self.environment[name] = value


def read_exactly(fd: int, size: int) -> bytes:
    pieces: list[bytes] = []
    while size:
        piece = os.read(fd, min(size, 1 << 16))
        if not piece:
            raise EOFError
        pieces.append(piece)
        size -= len(piece)
    return b"".join(pieces)


def read_order(fd: int) -> Order:
    """Read the launch order: a count, then so many fields, each with its length in front (4 bytes, big-endian)."""
    count = int.from_bytes(read_exactly(fd, 4), "big")
    return Order([read_exactly(fd, int.from_bytes(read_exactly(fd, 4), "big")) for _ in range(count)])


def become_harness(order: Order, failures: int, guard: int) -> None:
    """In the new child: turn into the harness, or report why not. Never returns."""
    stage = b"exec"
    try:
        os.setsid()
        if LINUX:
            prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
            if os.getppid() != guard:
                os._exit(127)
        for number in range(1, signal.NSIG):
            try:
                signal.signal(number, signal.SIG_DFL)
            except (OSError, ValueError):
                continue  # SIGKILL, SIGSTOP, and those that the C library keeps for itself
        stage = b"chdir"
        os.chdir(order.cwd)
        stage = b"exec"
        os.execve(order.executable, order.argv, order.environment)
    except OSError as error:
        os.write(failures, b"%s %d" % (stage, error.errno or 0))
    finally:
        os._exit(127)


class Guard:
    """Starts one harness and answers for everything below this process."""

    def __init__(self, control: int, status: int, driver: int) -> None:
        self.control = control
        self.status = status
        self.driver = driver
        self.me = os.getpid()
        self.harness = 0
        self.harness_gone = False
        self.asked_to_end = False
        self.woken, self.wake = os.pipe()
        os.set_blocking(self.woken, False)
        os.set_blocking(self.wake, False)
        #: seen below us before, by (pid, start): where there is no subreaper, an orphan leaves the tree
        self.known: dict[tuple[int, float], Seen] = {}

    def prepare(self) -> None:
        os.set_inheritable(self.control, False)
        os.set_inheritable(self.status, False)
        if LINUX:
            prctl(PR_SET_CHILD_SUBREAPER, 1)
        for name in (
            "SIGINT",
            "SIGHUP",
            "SIGQUIT",
            "SIGTSTP",
            "SIGTTIN",
            "SIGTTOU",
            "SIGUSR1",
            "SIGUSR2",
            "SIGPIPE",
        ):
            signal.signal(getattr(signal, name), signal.SIG_IGN)
        signal.pthread_sigmask(signal.SIG_SETMASK, ())
        signal.set_wakeup_fd(self.wake, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda number, frame: None)
        signal.signal(signal.SIGTERM, self.on_terminate)

    def on_terminate(self, number: int, frame: object) -> None:
        self.asked_to_end = True

    def launch(self, order: Order) -> bool:
        """Start the harness and report it; False when it could not be started."""
        failed, failures = os.pipe()
        pid = os.fork()
        if pid == 0:
            become_harness(order, failures, self.me)
        os.close(failures)
        failure = os.read(failed, 64)
        os.close(failed)
        null = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1, 2):
            os.dup2(null, stream)
        os.close(null)
        if failure:
            os.waitpid(pid, 0)
            stage, number = failure.split()
            self.write(b'{"event":"failed","stage":"%s","errno":%d}\n' % (stage, int(number)))
            return False
        self.harness = pid
        # It cannot have been reaped yet, so its entry is there even if it has ended already.
        seen = read_stat(pid, boot_time()) if LINUX else None
        created = seen.started if seen is not None else time.time()
        self.write(b'{"event":"started","pid":%d,"create_time":%.9f}\n' % (pid, created))
        return True

    def write(self, line: bytes) -> None:
        while line:
            try:
                line = line[os.write(self.status, line) :]
            except BrokenPipeError:
                return  # the driver is gone; the control pipe says so too

    def report(self, **fields: object) -> None:
        import json  # here, because loading it would delay the start of the harness by 5 ms

        self.write(json.dumps(fields).encode() + b"\n")

    def reap(self) -> bool:
        """Collect every child that has ended; True when no child is left."""
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return True
            if pid == 0:
                return False
            if pid == self.harness:
                self.harness_gone = True
                self.report(event="exited", code=os.waitstatus_to_exitcode(status))

    def below(self) -> list[Seen]:
        """Every live process below this one, the harness included."""
        table = process_table()
        children: dict[int, list[Seen]] = {}
        for process in table:
            children.setdefault(process.parent, []).append(process)
        found: dict[int, Seen] = {}
        open_ends = [self.me]
        while open_ends:
            for process in children.get(open_ends.pop(), ()):
                found[process.pid] = process
                open_ends.append(process.pid)
        if not LINUX:
            for process in table:
                if process.group == self.harness or (process.pid, process.started) in self.known:
                    found[process.pid] = process
            self.known = {(process.pid, process.started): process for process in found.values()}
        return [process for process in found.values() if process.alive]

    def targets(self, keep: set[int], harness: bool) -> list[Seen]:
        """What a sweep kills: all that is below us, but for `keep` with all below those, and maybe the harness."""
        processes = self.below()
        spared = set(keep)
        grown = -1
        while grown != len(spared):
            grown = len(spared)
            spared |= {process.pid for process in processes if process.parent in spared}
        return [
            process
            for process in processes
            if process.pid not in spared and (harness or process.pid != self.harness)
        ]

    def kill(self, keep: set[int], harness: bool) -> tuple[list[Seen], list[Seen]]:
        """SIGKILL the targets until none is left, or for `KILL_SECONDS`; return who got it, and who is left."""
        killed: dict[tuple[int, float], Seen] = {}
        deadline = time.monotonic() + KILL_SECONDS
        while True:
            self.reap()
            left = self.targets(keep, harness)
            remaining = deadline - time.monotonic()
            if not left or remaining <= 0:
                return list(killed.values()), left
            poller = select.poll()
            handles: list[int] = []
            for process in left:
                killed[process.pid, process.started] = process
                handle = kill_exactly(process)
                if handle is not None:
                    handles.append(handle)
                    poller.register(handle, select.POLLIN)
            self.wait_for_deaths(poller, len(handles), min(remaining, 0.2 if handles else 0.01))
            for handle in handles:
                os.close(handle)

    def wait_for_deaths(self, poller: select.poll, expected: int, seconds: float) -> None:
        """Wait until so many handles report a death. Without handles the wait is a plain pause: a process that is
        not our child ends without telling us, and the caller looks again."""
        deadline = time.monotonic() + seconds
        while True:
            events = poller.poll(max(0.0, deadline - time.monotonic()) * 1000)
            for handle, _ in events:
                poller.unregister(handle)
            expected -= len(events)
            if not events or expected <= 0:
                return

    def end(self) -> None:
        """End everything below us."""
        if not self.harness_gone:
            self.below()  # remembers the tree, where orphans would leave it
            self.send_signal(signal.SIGTERM, "group")
            self.wait_until_childless(TERM_GRACE_SECONDS)
        self.kill(set(), harness=True)
        self.reap()

    def wait_until_childless(self, seconds: float) -> None:
        deadline = time.monotonic() + seconds
        poller = select.poll()
        poller.register(self.woken, select.POLLIN)
        while not self.reap() and (remaining := deadline - time.monotonic()) > 0:
            poller.poll(remaining * 1000)
            self.drain_wake_ups()

    def drain_wake_ups(self) -> None:
        try:
            while os.read(self.woken, 4096):
                pass
        except BlockingIOError:
            pass

    def send_signal(self, number: int, to: str) -> None:
        if to == "cli":
            # Not reaped yet, so the id is still its own.
            processes = [] if self.harness_gone else [self.harness]
        else:
            processes = [p.pid for p in self.below() if to == "all" or p.group == self.harness]
        for pid in processes:
            try:
                os.kill(pid, number)
            except (ProcessLookupError, PermissionError):
                continue

    def obey(self, line: bytes) -> None:
        import json

        command = json.loads(line)
        found: list[Seen] = []
        if command["command"] == "list":
            found = [process for process in self.below() if process.pid != self.harness]
        elif command["command"] == "sweep":
            # Described before the kill: afterwards there is no command line left to read.
            keep, harness = set(command["keep"]), command["harness"]
            before = {(p.pid, p.started): p.described() for p in self.targets(keep, harness)}
            killed, left = self.kill(keep, harness)
            reply = [before.get((process.pid, process.started)) or process.described() for process in killed]
            survivors = [process.described() for process in left]
            self.report(event="reply", id=command["id"], processes=reply, survivors=survivors)
            return
        elif command["command"] == "signal":
            self.send_signal(command["number"], command["to"])
        self.report(event="reply", id=command["id"], processes=[process.described() for process in found])

    def watch(self) -> None:
        """Serve until the driver is gone."""
        poller = select.poll()
        poller.register(self.control, select.POLLIN)
        poller.register(self.woken, select.POLLIN)
        driver = open_driver(self.driver)
        if driver is not None:
            # The control pipe alone is not enough: a fork of the driver may hold its other end open.
            poller.register(driver, select.POLLIN)
        unfinished = b""
        while not self.asked_to_end:
            ready = {fd for fd, _ in poller.poll()}
            if self.woken in ready:
                self.drain_wake_ups()
                self.reap()
            if self.control in ready:
                data = os.read(self.control, 1 << 16)
                if not data:
                    return
                *lines, unfinished = (unfinished + data).split(b"\n")
                for line in lines:
                    self.obey(line)
            elif driver is not None and driver in ready:
                return


def open_driver(driver: int) -> int | None:
    """A handle that becomes readable when the driver ends; None where the system has none."""
    if sys.platform != "linux" or not HAS_HANDLES or os.getppid() != driver:
        return None
    try:
        handle = os.pidfd_open(driver)
    except OSError:
        return None
    if os.getppid() != driver:
        os.close(handle)
        return None
    return handle


def kill_exactly(process: Seen) -> int | None:
    """SIGKILL this process and no later one with its id; return a handle that reports its death, if there is one."""
    handle: int | None = None
    try:
        if sys.platform == "linux" and HAS_HANDLES:
            handle = os.pidfd_open(process.pid)
    except ProcessLookupError:
        return None
    except OSError:
        handle = None  # no such call before Linux 5.3, or no descriptor left: kill by id
    try:
        if handle is None or sys.platform != "linux":
            os.kill(process.pid, signal.SIGKILL)
            return None
        now = read_stat(process.pid, boot_time())
        if now is not None and now.started == process.started:
            signal.pidfd_send_signal(handle, signal.SIGKILL)
            return handle
    except OSError:
        pass
    if handle is not None:
        os.close(handle)
    return None


def main() -> None:
    control, status, driver = (int(argument) for argument in sys.argv[1:4])
    guard = Guard(control, status, driver)
    guard.prepare()
    try:
        order = read_order(control)
    except EOFError:
        return
    if not guard.launch(order):
        return
    try:
        guard.watch()
    finally:
        guard.end()
