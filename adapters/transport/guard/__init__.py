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

The modules import one another relatively: they run without the rest of this package around them.
"""
