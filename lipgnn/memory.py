"""Memory as the system sees it: what this process has and had at most, what it could still get, how it gives it back.

Linux is asked through /proc and /sys, glibc's allocator through mallopt; where one of them is absent, nothing is known
or changed. All numbers are bytes.
"""

from __future__ import annotations

import contextlib
import ctypes
import resource
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch

_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3  # of mallopt(3)
_MB = 2**20
_PROCESS = Path("/proc/self")


def memory_in_use(device: torch.device | None = None) -> int:
    """Bytes that this process has now, without what it has freed; on CUDA, those of its tensors."""
    if _on_cuda(device):
        import torch

        return torch.cuda.memory_allocated(device)
    _libc("malloc_trim", 0)
    return _entry(_PROCESS / "status", "VmRSS") or _most_ever()


def peak_memory(device: torch.device | None = None) -> int:
    """Most bytes that this process ever had, or had since `forget_peak`; on CUDA, those of its tensors."""
    if _on_cuda(device):
        import torch

        return torch.cuda.max_memory_allocated(device)
    # getrusage, on the other hand, remembers the process which started this one.
    return _entry(_PROCESS / "status", "VmHWM") or _most_ever()


def forget_peak(device: torch.device | None = None) -> bool:
    """Measure the peak anew from here on; returns whether the system can do so."""
    if _on_cuda(device):
        import torch

        torch.cuda.reset_peak_memory_stats(device)
        return True
    try:
        (_PROCESS / "clear_refs").write_text("5")  # see proc_pid_clear_refs(5)
    except OSError:
        return False
    return True


def free_memory(device: torch.device | None = None) -> int:
    """Bytes that this process could still get: of the machine, within its control groups and limits."""
    if _on_cuda(device):
        import torch

        return torch.cuda.mem_get_info(device)[0]
    rooms = [_entry(Path("/proc/meminfo"), "MemAvailable"), *_rooms_in_groups(Path("/"))]
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    if limit != resource.RLIM_INFINITY:
        rooms.append(limit - (_entry(_PROCESS / "status", "VmSize") or 0))
    return max(0, min((room for room in rooms if room is not None), default=sys.maxsize))


@contextlib.contextmanager
def memory_returned() -> Iterator[None]:
    """Give every tensor of 1 MB or more pages of its own, which the system gets back with the tensor.

    By default glibc keeps freed tensors of up to 32 MB to use their pages again; but being aligned, a tensor does
    not fit where one of the same size was, and a deep network comes to hold two to three times what it uses. Pages
    of one's own are the dearer ones: they are cleared every time.
    """
    _libc("malloc_trim", 0)
    _libc("mallopt", _MMAP_THRESHOLD, _MB)
    try:
        yield
    finally:
        # What glibc itself arrives at after a few large tensors; it does not adapt any more once it was told.
        _libc("mallopt", _MMAP_THRESHOLD, 32 * _MB)
        _libc("mallopt", _TRIM_THRESHOLD, 64 * _MB)


def _on_cuda(device: torch.device | None) -> bool:
    return device is not None and device.type == "cuda"


def _most_ever() -> int:
    """What getrusage calls the maximum resident set, which macOS counts in bytes and others in kilobytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 2**10)


def _libc(name: str, *numbers: int) -> None:
    with contextlib.suppress(OSError, AttributeError):
        getattr(ctypes.CDLL(None), name)(*numbers)


def _rooms_in_groups(root: Path) -> Iterator[int]:
    """What is left in the control groups of this process, from its own up to the root; page cache counts as free."""
    for line in _text(root / "proc/self/cgroup").splitlines():
        _, controllers, path = line.split(":", 2)
        if controllers == "":
            top, files = root / "sys/fs/cgroup", ("memory.max", "memory.current", "inactive_file")
        elif "memory" in controllers.split(","):
            names = ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file")
            top, files = root / "sys/fs/cgroup/memory", names
        else:
            continue
        # In a container the path may be the one outside of it; then only the top can be read.
        folder = top / path.strip("/")
        for group in (folder, *(parent for parent in folder.parents if parent.is_relative_to(top))):
            limit, used = _text(group / files[0]).strip(), _text(group / files[1]).strip()
            if limit.isdecimal() and used.isdecimal():
                yield int(limit) - int(used) + (_entry(group / "memory.stat", files[2]) or 0)


def _entry(path: Path, name: str) -> int | None:
    """The value called `name` in a file of lines such as `VmRSS:  12 kB` or `inactive_file 12`, in bytes."""
    for line in _text(path).splitlines():
        key, *rest = line.split()
        if key.removesuffix(":") == name:
            return int(rest[0]) * (2**10 if rest[-1] == "kB" else 1)
    return None


def _text(path: Path) -> str:
    try:
        return path.read_text()
    except OSError:
        return ""
