import resource

import pytest
import torch

from lipgnn import memory as system_memory
from lipgnn.memory import forget_peak, free_memory, memory_in_use, memory_returned, peak_memory

CPU = torch.device("cpu")


def test_memory_in_use_follows_what_is_allocated_and_freed():
    before = memory_in_use(CPU)
    held = torch.ones(2**26, dtype=torch.uint8)
    assert 0.8 * 2**26 < memory_in_use(CPU) - before < 1.5 * 2**26
    del held
    assert memory_in_use(CPU) - before < 0.2 * 2**26


def test_the_peak_is_the_most_there_was_until_it_is_forgotten():
    before = memory_in_use(CPU)
    held = torch.ones(2**26, dtype=torch.uint8)
    del held
    assert peak_memory() > before + 0.9 * 2**26
    assert memory_in_use(CPU) < before + 0.2 * 2**26
    assert forget_peak(CPU)
    assert peak_memory(CPU) < before + 0.2 * 2**26


@pytest.mark.parametrize("platform, unit", [("linux", 2**10), ("darwin", 1)])
def test_without_proc_getrusage_is_asked(monkeypatch, tmp_path, platform, unit):
    monkeypatch.setattr(system_memory, "_PROCESS", tmp_path / "nothing")
    monkeypatch.setattr(system_memory.sys, "platform", platform)
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
    assert most <= memory_in_use(CPU) <= peak_memory()
    assert not forget_peak(CPU)


def test_on_cuda_tensors_are_counted(monkeypatch):
    counted = {"memory_allocated": 3, "max_memory_allocated": 7, "mem_get_info": (11, 13)}
    for name, value in counted.items():
        monkeypatch.setattr(torch.cuda, name, lambda device, value=value: value)
    forgotten = []
    monkeypatch.setattr(torch.cuda, "reset_peak_memory_stats", forgotten.append)
    cuda = torch.device("cuda", 1)
    assert (memory_in_use(cuda), peak_memory(cuda), free_memory(cuda)) == (3, 7, 11)
    assert forget_peak(cuda) and forgotten == [cuda]


def test_free_memory_is_what_the_machine_has_at_most(monkeypatch):
    with open("/proc/meminfo") as file:
        total = int(file.readline().split()[1]) * 2**10
    assert 0 < free_memory(CPU) < total
    monkeypatch.setattr(resource, "getrlimit", lambda which: (2**20, 2**20))
    assert free_memory(CPU) == 0  # this process has more than that already


GROUPS = {
    "v2": (
        "0::/job/step\n",
        {
            "sys/fs/cgroup/job/memory.max": "1000",
            "sys/fs/cgroup/job/memory.current": "700",
            "sys/fs/cgroup/job/memory.stat": "anon 500\ninactive_file 100\n",
            "sys/fs/cgroup/job/step/memory.max": "max",
            "sys/fs/cgroup/job/step/memory.current": "600",
        },
        [400],
    ),
    "v1 in a container": (
        "9:cpu:/x\n4:memory:/outside/id\n",
        {
            "sys/fs/cgroup/memory/memory.limit_in_bytes": "5000",
            "sys/fs/cgroup/memory/memory.usage_in_bytes": "2000",
            "sys/fs/cgroup/memory/memory.stat": "inactive_file 1\ntotal_inactive_file 30\n",
        },
        [3030],
    ),
    "none": ("", {}, []),
}


@pytest.mark.parametrize("version", GROUPS)
def test_limits_of_control_groups_count(version, tmp_path):
    membership, files, rooms = GROUPS[version]
    for name, content in {"proc/self/cgroup": membership, **files}.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
    assert list(system_memory._rooms_in_groups(tmp_path)) == rooms


def test_pages_go_back_with_the_tensor_only_within_the_context(monkeypatch):
    calls = []
    monkeypatch.setattr(system_memory, "_libc", lambda name, *numbers: calls.append((name, *numbers)))
    with pytest.raises(KeyError), memory_returned():
        assert calls == [("malloc_trim", 0), ("mallopt", -3, 2**20)]
        raise KeyError
    assert calls[2:] == [("mallopt", -3, 2**25), ("mallopt", -1, 2**26)]


def test_a_system_without_glibc_is_left_alone(monkeypatch):
    monkeypatch.setattr(system_memory.ctypes, "CDLL", lambda name: object())
    with memory_returned():
        pass
