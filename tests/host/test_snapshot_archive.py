"""Archives, sound and hostile. A hostile one ends in one HostError, within bounded memory, and nothing is written anywhere."""

from __future__ import annotations

import gzip
import io
import os
import subprocess
import sys
import tarfile
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rocmdoctor.host import HostError, UnknownFact
from rocmdoctor.host import snapshot_archive as archive
from rocmdoctor.host.recorded import open_snapshot
from tests.host.recorded_hosts import archive_of, member, parts

LONG = "/" + "/".join(["a" * 100] * 4) + "/file"


@pytest.mark.parametrize("form", [tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT])
@pytest.mark.parametrize("prefix", ["", "./", "node7/", "./node7/"])
def test_sound_archives(tmp_path: Path, form: int, prefix: str) -> None:
    files = {"/etc/os-release": b"ID=x\n", "/sys/empty": b"", "/a/" + "b" * 120 + "/c": b"deep"}
    # Cut after 100 characters, as the old name field is, this one would end in a slash.
    files["/" + "c" * (93 - len(prefix)) + "/ends"] = b"cut"
    if form != tarfile.USTAR_FORMAT:
        files |= {LONG: b"long", "/etc/ü": b"name"}
    extra = [member(prefix + "files/etc/empty.d", type=tarfile.DIRTYPE), member(prefix + "expected.json", b"{}")]
    if prefix:
        extra.append(member(prefix.rstrip("/"), type=tarfile.DIRTYPE))
    host = open_snapshot(archive_of(tmp_path / "s.tar.gz", parts(files=files), extra, form, prefix))
    for path, data in files.items():
        assert host.read_bytes(path) == data
    assert host.names("/etc/empty.d") == () and host.node("/etc/empty.d") is not None
    assert host.read("/expected.json") is None


def test_two_gzip_members_and_padding(tmp_path: Path) -> None:
    whole = archive_of(tmp_path / "s.tar.gz", parts()).read_bytes()
    raw = gzip.decompress(whole)
    split = tmp_path / "t.tar.gz"
    split.write_bytes(gzip.compress(raw[:700]) + gzip.compress(raw[700:]) + b"\0" * 2000)
    assert open_snapshot(split).read("/etc/os-release") == "ID=ubuntu\n"


def extra(*members: tuple[tarfile.TarInfo, bytes]) -> Callable[[Path], Path]:
    return lambda path: archive_of(path, parts(), members)


def tar_of(path: Path) -> bytes:
    return gzip.decompress(archive_of(path, parts()).read_bytes())


def zeros(path: Path, before: bytes = b"", size: int = 10 << 30) -> Path:
    """A gzip file of `before` and `size` zeros, made fast: compressed chunks of zeros can be repeated."""
    squeeze = zlib.compressobj(9, wbits=31)
    path.write_bytes(squeeze.compress(before) + squeeze.flush(zlib.Z_FULL_FLUSH))
    chunk = squeeze.compress(bytes(16 << 20)) + squeeze.flush(zlib.Z_FULL_FLUSH)
    with path.open("ab") as out:
        for _ in range(size // (16 << 20)):
            out.write(chunk)
    return path


def head(name: str, size: int, kind: bytes = b"0") -> bytes:
    """A tar header that claims a size. Beyond 8 GiB the size is in base 256, as GNU tar writes it."""
    info = tarfile.TarInfo(name)
    info.type, info.size = kind, size
    return info.tobuf(tarfile.GNU_FORMAT)


def raw(data: bytes) -> Callable[[Path], Path]:
    def made(path: Path) -> Path:
        path.write_bytes(data)
        return path

    return made


def cut(path: Path) -> Path:
    data = archive_of(path, parts(files={"/x": os.urandom(3000)})).read_bytes()
    path.write_bytes(data[: len(data) * 2 // 3])
    return path


def flipped(path: Path) -> Path:
    data = bytearray(archive_of(path, parts()).read_bytes())
    data[-6] ^= 0xFF  # the CRC
    path.write_bytes(data)
    return path


def without(*names: str) -> Callable[[Path], Path]:
    return lambda path: archive_of(path, {n: d for n, d in parts().items() if n not in names})


def tarred(data: bytes) -> Callable[[Path], Path]:
    return raw(gzip.compress(data))


def record(text: str) -> bytes:
    """A pax header of one record, as a whole tar beginning."""
    body = text.encode()
    return head("pax", len(body), b"x") + body + bytes(-len(body) % 512) + head("a", 0) + bytes(1024)


HOSTILE: dict[str, Callable[[Path], Path]] = {
    "dotdot": extra(member("../evil", b"x")),
    "dotdot inside": extra(member("files/a/../../../evil", b"x")),
    "absolute": extra(member("/etc/passwd", b"x")),
    "symlink": extra(member("files/etc/l", type=tarfile.SYMTYPE, linkname="/etc/passwd")),
    "symlink to itself": extra(member("files/l", type=tarfile.SYMTYPE, linkname="l")),
    "hard link": extra(member("files/etc/l", type=tarfile.LNKTYPE, linkname="files/etc/os-release")),
    "char device": extra(member("files/dev/mem", type=tarfile.CHRTYPE, devmajor=1, devminor=1)),
    "block device": extra(member("files/dev/sda", type=tarfile.BLKTYPE)),
    "fifo": extra(member("files/fifo", type=tarfile.FIFOTYPE)),
    "unknown type": extra(member("files/odd", type=b"Z")),
    "duplicate": extra(member("files/etc/os-release", b"other")),
    "duplicate by dots": extra(member("./files//etc/./os-release", b"other")),
    "duplicate snapshot.json": extra(member("snapshot.json", b"{}")),
    "folder and file": extra(member("files/etc/os-release", type=tarfile.DIRTYPE)),
    "file as a folder": extra(member("files/etc/os-release/x", b"x")),
    "two tops": lambda path: archive_of(path, parts(), [member("other/x", b"")], prefix="node/"),
    "truncated": cut,
    "bad checksum": flipped,
    "empty": raw(b""),
    "not a gzip": raw(b"snapshot" * 100),
    "gzip of text": raw(gzip.compress(b"hello " * 1000)),
    "gzip magic only": raw(b"\x1f\x8b"),
    "gzip of nothing": raw(gzip.compress(b"")),
    "plain tar": lambda path: raw(tar_of(path))(path),
    "no snapshot.json": without("snapshot.json"),
    "no nodes.json": without("nodes.json"),
    "no commands.json": without("commands.json"),
    "snapshot.json is a folder": lambda path: archive_of(path, {"x": b""}, [member("snapshot.json", type=tarfile.DIRTYPE)]),
    "zeros": zeros,
    "zeros after the end": lambda path: zeros(path, tar_of(path)),
    "zeros as a member": lambda path: zeros(path, head("files/big", 10 << 30)),
    "zeros as a folder": lambda path: zeros(path, head("files/big", 10 << 30, b"5")),
    "zeros as a pax header": lambda path: zeros(path, head("pax", 10 << 30, b"x")),
    "zeros as a global pax header": lambda path: zeros(path, head("pax", 7 << 30, b"g")),
    "zeros as a long name": lambda path: zeros(path, head("././@LongLink", 10 << 30, b"L")),
    "zeros in 60 MiB members": lambda path: zeros(path, head("files/big", 60 << 20)),
    "garbage after the end": lambda path: raw(gzip.compress(tar_of(path) + b"x" * 600))(path),
    "pax path out": tarred(record("22 path=../../../evil\n")),
    "pax bad length": tarred(record("99 path=x\n")),
    "pax no length": tarred(record("path=x\n")),
    "pax zero length": tarred(record("0 path=x\n")),
    "pax bad size": tarred(record("11 size=-1\n")),
    "pax sparse": tarred(record("22 GNU.sparse.major=1\n")),
    "size not octal": tarred(head("a", 0)[:124] + b"zzzzzzzzzzz\0" + head("a", 0)[136:]),
    "header cut": tarred(head("files/a", 0)[:300]),
    "member cut": tarred(head("files/a", 5000) + b"x" * 700),
    "invalid JSON": lambda path: archive_of(path, {**parts(), "nodes.json": b"{"}),
    "JSON of the wrong shape": lambda path: archive_of(path, {**parts(), "nodes.json": b"[]"}),
    "circle of links": lambda path: archive_of(path, parts(nodes={"/a": {"type": "link", "target": "a"}})),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_archives(tmp_path: Path, name: str) -> None:
    path = HOSTILE[name](tmp_path / "s.tar.gz")
    before = sorted(p.name for p in tmp_path.iterdir())
    with pytest.raises(HostError) as caught:
        open_snapshot(path).read("/etc/os-release")
    text = str(caught.value)
    assert text and "\n" not in text and len(text) < 300
    assert sorted(p.name for p in tmp_path.iterdir()) == before


def test_memory_is_bounded(tmp_path: Path) -> None:
    """In a process of its own: the peak of this one says nothing."""
    for number, make in enumerate((zeros, HOSTILE["zeros as a pax header"], HOSTILE["zeros after the end"])):
        path = make(tmp_path / f"{number}.tar.gz")
        code = (
            "import sys\nfrom rocmdoctor.host import HostError\nfrom rocmdoctor.host.recorded import open_snapshot\n"
            "try: open_snapshot(sys.argv[1])\n"
            "except HostError: print([w.split()[1] for w in open('/proc/self/status') if w.startswith('VmHWM')][0])"
        )
        done = subprocess.run([sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=True, timeout=60)
        assert int(done.stdout) < 64 << 10, "KiB"


def test_too_many_entries(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archive, "MAX_ENTRIES", 10)
    with pytest.raises(HostError, match="more than 10 entries"):
        open_snapshot(archive_of(tmp_path / "s.tar.gz", parts(files={f"/{i}": b"" for i in range(20)})))


def test_too_much_in_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archive, "MAX_TOTAL", 1 << 20)
    with pytest.raises(HostError, match="more than 1 MiB"):
        open_snapshot(archive_of(tmp_path / "s.tar.gz", parts(files={f"/{i}": bytes(100_000) for i in range(20)})))


def test_not_there_and_not_a_file(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    for path in (tmp_path / "nope", tmp_path / "fifo", Path("/dev/zero")):
        with pytest.raises(HostError):
            open_snapshot(path)
    with pytest.raises(HostError):
        open_snapshot("a\0b")


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_damaged_tars_end_in_an_error_or_a_host(tmp_path: Path, data: st.DataObject) -> None:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for name, content in parts(files={LONG: b"x" * 600, "/etc/os-release": b"ID=x"}).items():
            info, _ = member(name, content)
            tar.addfile(info, io.BytesIO(content))
    damaged = bytearray(buffer.getvalue())
    for _ in range(data.draw(st.integers(1, 4))):
        damaged[data.draw(st.integers(0, len(damaged) - 1))] = data.draw(st.integers(0, 255))
    path = tmp_path / "s.tar.gz"
    path.write_bytes(gzip.compress(bytes(damaged), 1))
    try:
        open_snapshot(path).read("/etc/os-release")
    except (HostError, UnknownFact) as exc:
        assert "\n" not in str(exc)
