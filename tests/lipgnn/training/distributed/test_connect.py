import os
from pathlib import Path

import torch

from lipgnn.training.distributed.connect import _on_loopback, device_of, find_store, open_store


def test_a_store_is_at_a_port_of_its_own_that_only_this_machine_reaches():
    stores = [open_store(2), open_store(2)]
    ports = [store.port for store in stores]
    assert ports[0] != ports[1]
    listening = {}
    for table in ("tcp", "tcp6"):
        for line in (Path("/proc/net") / table).read_text().splitlines()[1:]:
            address, port = line.split()[1].split(":")
            if line.split()[3] == "0A":
                listening.setdefault(int(port, 16), []).append(address)
    assert [listening[port] for port in ports] == [["0100007F"]] * 2
    other = find_store("127.0.0.1", ports[0], 2)
    other.set("a", "b")
    assert stores[0].get("a") == b"b"


def test_gloo_is_told_to_stay_on_this_machine_unless_somebody_said_otherwise(monkeypatch):
    monkeypatch.delenv("GLOO_SOCKET_IFNAME", raising=False)
    with _on_loopback():
        assert os.environ["GLOO_SOCKET_IFNAME"].startswith("lo")
    assert "GLOO_SOCKET_IFNAME" not in os.environ
    monkeypatch.setenv("GLOO_SOCKET_IFNAME", "eth7")
    with _on_loopback():
        assert os.environ["GLOO_SOCKET_IFNAME"] == "eth7"
    assert os.environ["GLOO_SOCKET_IFNAME"] == "eth7"


def test_every_worker_of_a_machine_has_a_gpu_where_there_are_any(monkeypatch):
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    assert [device_of(torch.device("cuda", 0), rank).index for rank in range(3)] == [0, 1, 0]
    assert device_of(torch.device("cpu"), 1) == torch.device("cpu")
