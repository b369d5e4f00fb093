"""A network namespace of Linux that holds nothing but the loopback interface.

Root needs no more than `unshare(CLONE_NEWNET)`; anyone else (and root in a container without the capability) gets it
together with a user namespace in which the user keeps the same id. Files, and Unix sockets that have a path, stay
reachable: the namespace is about the network only.
"""

from __future__ import annotations

import ctypes
import fcntl
import os
import signal
import socket
import struct
import sys
from pathlib import Path

_CLONE_NEWUSER = 0x10000000
_CLONE_NEWNET = 0x40000000
_PR_SET_PDEATHSIG = 1
_SIOCGIFFLAGS = 0x8913
_SIOCSIFFLAGS = 0x8914
_IFF_UP = 0x1
#: struct ifreq: the name in 16 bytes, then a union of 24 that starts with the flags.
_IFREQ = struct.Struct("16sh22x")


class NamespaceRefused(Exception):
    """Raised when the system does not allow a network namespace; says at which step and why."""


def holds_only_loopback() -> bool:
    """Whether loopback is up and no other network interface that this process sees is, as the kernel tells it.

    A kernel with tunnel modules puts their fallback devices (`tunl0`, `sit0`) into each new namespace; they are down.
    """
    if sys.platform != "linux":
        return False
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        return [name for _, name in socket.if_nameindex() if _flags(control, name) & _IFF_UP] == ["lo"]


def enter_loopback_namespace() -> None:
    """Move this process into a new network namespace and bring its loopback interface up.

    The process must have one thread only. It is tried in a child first, so that a refusal half way leaves this
    process as it was.

    Raises:
        NamespaceRefused: the system does not allow it; nothing has changed.
    """
    if sys.platform != "linux":
        raise NamespaceRefused(f"there are no network namespaces on {sys.platform}")
    if reason := _refusal_in_a_child():
        raise NamespaceRefused(reason)
    _enter()


def die_with_parent(parent: int) -> None:
    """Have the kernel end this process, and whatever it becomes by exec, when its parent ends.

    Args:
        parent: process id of the parent as it was at the start; if it has ended meanwhile, this process ends now.
    """
    if sys.platform != "linux":
        return
    _libc().prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os.kill(os.getpid(), signal.SIGKILL)


def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def _refusal_in_a_child() -> str:
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            _enter()
        except NamespaceRefused as refusal:
            os.write(writing, str(refusal).encode())
        except BaseException as fault:
            os.write(writing, f"unexpected: {fault!r}".encode())
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as stream:
        reason = stream.read().decode()
    os.waitpid(child, 0)
    return reason


def _enter() -> None:
    user, group = os.geteuid(), os.getegid()
    if _unshare(_CLONE_NEWNET) is not None:
        if fault := _unshare(_CLONE_NEWNET | _CLONE_NEWUSER):
            raise NamespaceRefused(f"unshare: {fault}")
        try:
            Path("/proc/self/setgroups").write_bytes(b"deny")
            Path("/proc/self/uid_map").write_bytes(b"%d %d 1" % (user, user))
            Path("/proc/self/gid_map").write_bytes(b"%d %d 1" % (group, group))
        except OSError as fault:
            raise NamespaceRefused(f"user map: {fault.strerror}") from fault
    try:
        _bring_loopback_up()
    except OSError as fault:
        raise NamespaceRefused(f"loopback: {fault.strerror}") from fault


def _unshare(flags: int) -> str | None:
    # os.unshare is there from Python 3.12 on.
    if _libc().unshare(flags) == 0:
        return None
    return os.strerror(ctypes.get_errno())


def _bring_loopback_up() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        fcntl.ioctl(control, _SIOCSIFFLAGS, _IFREQ.pack(b"lo", _flags(control, "lo") | _IFF_UP))


def _flags(control: socket.socket, interface: str) -> int:
    answer = fcntl.ioctl(control, _SIOCGIFFLAGS, _IFREQ.pack(interface.encode(), 0))
    return int(_IFREQ.unpack(answer)[1])
