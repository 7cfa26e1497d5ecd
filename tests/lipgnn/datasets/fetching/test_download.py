"""Downloads from a server on this machine, with everything that goes wrong on the way."""

from __future__ import annotations

import hashlib
import http.client
import socket
import urllib.request

import pytest

from lipgnn.datasets.fetching import download as module
from lipgnn.datasets.fetching.download import Partial, _Redirects, download, remote_size
from lipgnn.errors import DataError, RunFailed

CONTENT = bytes(range(256)) * 40
LARGEST = 10 * len(CONTENT)
SHA256 = hashlib.sha256(CONTENT).hexdigest()


@pytest.fixture
def partial(tmp_path):
    return Partial(tmp_path / "a.zip.part")


@pytest.fixture
def server(serve):
    return serve({"/a.zip": CONTENT})


@pytest.fixture
def get(server, partial):
    """Download and give back what progress was told."""

    def call():
        told = []
        assert download(f"{server.url}/a.zip", partial, told.append, LARGEST) == SHA256
        assert partial.path.read_bytes() == CONTENT
        return told

    return call


def _ranges(server):
    return [ranged for method, _, ranged in server.requests if method == "GET"]


def test_whole(get, server):
    assert remote_size(f"{server.url}/a.zip") == len(CONTENT)
    told = get()
    assert told[0] == 0 and told[-1] == len(CONTENT) and told == sorted(told)


def test_a_broken_connection_is_taken_up_where_it_broke(get, server):
    server.faults[:] = [1000, 500]
    get()
    assert _ranges(server) == [None, "bytes=1000-", "bytes=1500-"]


@pytest.mark.parametrize("cut", [0, 1, len(CONTENT) - 1])
def test_wherever_it_breaks(get, server, cut):
    server.faults[:] = [cut]
    get()
    assert len(_ranges(server)) == 2


def test_after_three_attempts_what_arrived_is_kept_for_the_next_call(get, server, partial):
    server.faults[:] = [10, 20, 30]
    with pytest.raises(DataError, match="connection ended after 30 of") as caught:
        get()
    assert server.url in caught.value.message
    assert partial.path.read_bytes() == CONTENT[:60] and partial.size(f"{server.url}/a.zip") == 60
    assert get()[0] == 60


def test_another_version_of_the_file_is_begun_anew(get, server, partial):
    server.files["/a.zip"] = b"old" * 1000
    server.faults[:] = [10] * 3
    with pytest.raises(DataError):
        get()
    server.files["/a.zip"] = CONTENT
    get()


def test_bytes_of_another_address_or_without_a_note_are_not_gone_on_with(get, partial, server):
    partial.path.write_bytes(b"something")
    assert partial.size(f"{server.url}/a.zip") == 0
    partial.note_path.write_bytes(b"[")
    get()
    assert partial.size("http://other/a.zip") == 0 and partial.size(f"{server.url}/a.zip") == len(CONTENT)


def test_what_is_whole_is_not_sent_again(get, server):
    get()
    assert get() == []
    assert _ranges(server) == [None, f"bytes={len(CONTENT)}-"]


def test_more_than_the_file_has_is_begun_anew(get, server, partial):
    get()
    partial.path.write_bytes(CONTENT * 2)
    get()


@pytest.mark.parametrize("fault", ["plain", "wrong part"])
def test_servers_that_send_another_part(get, server, fault):
    server.faults[:] = [100, fault]
    get()


def test_not_there_is_said_at_once(server, partial):
    for call in (remote_size, lambda url: download(url, partial, print, LARGEST)):
        server.requests.clear()
        with pytest.raises(DataError, match="404 Not Found") as caught:
            call(f"{server.url}/b.zip")
        assert caught.value.exit_code == 4 and len(server.requests) == 1


def test_redirects_are_followed_and_circles_left(server, partial):
    server.redirects.update({"/moved": "/a.zip", "/x": "/y", "/y": "/x", "/file": "file:///etc/hostname"})
    assert remote_size(f"{server.url}/moved") == len(CONTENT)
    for path in ("/x", "/file"):
        with pytest.raises(DataError):
            download(f"{server.url}{path}", partial, print, LARGEST)
    assert not partial.path.exists()


def test_silence_ends(server, partial, monkeypatch):
    monkeypatch.setattr(module, "TIMEOUT_SECONDS", 0.1)
    monkeypatch.setattr(module, "ATTEMPTS", 1)
    server.faults[:] = ["slow"]
    with pytest.raises(DataError, match="timed out"):
        download(f"{server.url}/a.zip", partial, print, LARGEST)


def test_no_server(partial):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}/a.zip"
    for call in (remote_size, lambda url: download(url, partial, print, LARGEST)):
        with pytest.raises(DataError, match="refused"):
            call(url)


def test_no_such_host_is_said_in_words(monkeypatch):
    def unknown(*arguments):
        raise socket.gaierror(-2, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", unknown)
    with pytest.raises(DataError) as caught:
        remote_size("http://nowhere.invalid/a.zip")
    assert caught.value.message == "Could not download 'http://nowhere.invalid/a.zip': Name or service not known."


@pytest.mark.parametrize("url", ["file:///etc/hostname", "ftp://127.0.0.1/a", "nonsense", "http://"])
def test_only_http(url):
    with pytest.raises(DataError, match="Could not download"):
        remote_size(url)


def test_a_full_disk_is_not_the_servers_fault(server, tmp_path):
    # Writing to it always fails as on a full disk.
    partial = Partial(tmp_path / "full")
    partial.path.symlink_to("/dev/full")
    with pytest.raises(RunFailed, match="No space left") as caught:
        download(f"{server.url}/a.zip", partial, print, LARGEST)
    assert "full" in caught.value.message


def test_remove(get, partial, tmp_path):
    get()
    partial.remove()
    partial.remove()
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("fault", [None, "unsaid"])
def test_more_than_was_expected_is_not_taken_whatever_the_server_says(server, partial, fault):
    server.faults[:] = [fault]
    with pytest.raises(DataError, match=f"{len(CONTENT) - 1:,}"):
        download(f"{server.url}/a.zip", partial, print, len(CONTENT) - 1)
    assert not partial.path.exists() and not partial.note_path.exists()
    # It is as long the second time.
    assert len(server.requests) == 1
    assert download(f"{server.url}/a.zip", partial, print, len(CONTENT)) == SHA256


def test_no_redirect_leaves_an_encrypted_way():
    request = urllib.request.Request("https://a.example/x")
    follow = _Redirects()
    assert follow.redirect_request(request, None, 302, "", {}, "https://b.example/x").full_url == "https://b.example/x"
    for url in ("http://a.example/x", "file:///x", "ftp://a.example/x"):
        with pytest.raises(http.client.HTTPException, match="not encrypted"):
            follow.redirect_request(request, None, 302, "", {}, url)
    plain = urllib.request.Request("http://a.example/x")
    assert follow.redirect_request(plain, None, 302, "", {}, "https://b.example/x")
