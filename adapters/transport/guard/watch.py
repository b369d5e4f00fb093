"""The guard itself: starts one harness, obeys the driver, and ends everything below when the driver is gone."""

# It runs without the rest of the package around it, so there is no absolute name to import from.
# ruff: noqa: TID252

from __future__ import annotations

import os
import select
import signal
import sys
import time

from .launch import Order, become_harness, become_subreaper, read_order
from .table import HAS_HANDLES, LINUX, Seen, boot_time, kill_exactly, process_table, read_stat

#: how long the harness may take to end after SIGTERM when the driver is gone
TERM_GRACE_SECONDS = 0.5
#: how long a killed process may take to disappear before it is given up (another user's, or stuck in the kernel)
KILL_SECONDS = 5.0


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
        become_subreaper()
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
