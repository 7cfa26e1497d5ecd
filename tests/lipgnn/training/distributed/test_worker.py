import subprocess

from lipgnn.runtime import module_command


def test_a_worker_ends_with_its_input():
    """Before it has connected to anybody: whoever started it was killed meanwhile."""
    told = b'{"rank": 1, "world": 2, "port": 1, "threads": 1, "data": {"name": "planted"}, "fingerprint": ""}\n'
    command = module_command("lipgnn.training.distributed.worker")
    done = subprocess.run(command, input=told, capture_output=True, timeout=60)
    assert done.returncode == 0, done.stderr
