"""This machine as a target of changes: the only module that writes outside a user's own output files.

Files are replaced whole (temporary file in the same folder, fsync, mode and owner, rename, fsync of the folder), so that no
reader and no crash ever sees half of one. Programs get argv, never a shell, and write their output straight into a log file: when
this process is killed, a package manager goes on to its end.
"""

import contextlib
import errno
import fcntl
import os
import shutil
import stat
import struct
import time
from collections.abc import Callable, Iterator, Mapping, Sequence

from rocmdoctor.host import Command, Host
from rocmdoctor.host.commands import find_program
from rocmdoctor.host.snapshot_tree import reason
from rocmdoctor.host.target import ChangeFailed, FileState, temporary_name

SYSTEM_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
MAX_FILE = 64 << 20
"""Bytes of a file that can be kept and restored; configuration files and keys have some kilobytes."""
TAIL = 1 << 20
"""Bytes of a program's output that are handed back; all of it is in the log."""
_SECRET_FREE = ("http_proxy", "https_proxy", "ftp_proxy", "no_proxy", "all_proxy")
_KEPT = frozenset({"HOME", "LANG", "TERM", "SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "PIP_CERT", "UV_CACHE_DIR"})


class Machine:
    """This machine. `root` puts all files under another folder (programs are then not run)."""

    def __init__(self, root: str = "/", environment: Mapping[str, str] | None = None) -> None:
        self._root = "" if root == "/" else root.rstrip("/")
        self._environment = dict(os.environ if environment is None else environment)

    # looking -------------------------------------------------------------------------------------------------

    def look(self) -> Host:
        from rocmdoctor.host.live import LiveHost

        return LiveHost(self._root or "/")

    def now(self) -> str:
        return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())

    def _real(self, path: str) -> str:
        if not path.startswith("/") or "\0" in path:
            raise ChangeFailed(f"not an absolute path: {path[:80]!r}")
        return self._root + path

    def state(self, path: str) -> FileState | None:
        real = self._real(path)
        try:
            info = os.lstat(real)
            target = os.readlink(real) if stat.S_ISLNK(info.st_mode) else None
        except OSError as error:
            if error.errno in (errno.ENOENT, errno.ENOTDIR):
                return None
            raise _failed("look at", path, error) from None
        kinds = ((stat.S_ISREG, "file"), (stat.S_ISDIR, "dir"), (stat.S_ISLNK, "link"))
        kind = next((name for test, name in kinds if test(info.st_mode)), "other")
        return FileState(kind, stat.S_IMODE(info.st_mode), info.st_uid, info.st_gid, target)

    def read(self, path: str) -> bytes | None:
        try:
            with open(self._real(path), "rb") as file:
                data = file.read(MAX_FILE + 1)
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            raise _failed("read", path, error) from None
        if len(data) > MAX_FILE:
            raise ChangeFailed(f"{path} is larger than {MAX_FILE >> 20} MiB and cannot be kept")
        return data

    def names(self, path: str) -> tuple[str, ...]:
        try:
            return tuple(sorted(os.listdir(self._real(path))))
        except (FileNotFoundError, NotADirectoryError):
            return ()
        except OSError as error:
            raise _failed("list", path, error) from None

    # files ---------------------------------------------------------------------------------------------------

    def write(self, path: str, data: bytes, mode: int = 0o644, owner: tuple[int, int] | None = None) -> None:
        real = self._real(path)
        temporary = temporary_name(real)
        try:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(temporary)  # of a run that was killed
            descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
            try:
                _write_all(descriptor, data)
                if owner is not None:
                    os.fchown(descriptor, *owner)
                os.fchmod(descriptor, mode)
                os.fsync(descriptor)
            finally:
                os.close(descriptor)
            os.replace(temporary, real)
            _sync_folder(real)
        except OSError as error:
            with contextlib.suppress(OSError):
                os.unlink(temporary)
            raise _failed("write", path, error) from None

    def link(self, path: str, to: str) -> None:
        real = self._real(path)
        temporary = temporary_name(real)
        try:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(temporary)
            os.symlink(to, temporary)
            os.replace(temporary, real)
            _sync_folder(real)
        except OSError as error:
            raise _failed("make the link", path, error) from None

    def make_folder(self, path: str, mode: int = 0o755) -> None:
        real = self._real(path)
        try:
            os.mkdir(real, 0o700)
            os.chmod(real, mode)  # whatever the umask says
            _sync_folder(real)
        except FileExistsError:
            if not os.path.isdir(real):
                raise ChangeFailed(f"{path} is no folder") from None
        except OSError as error:
            raise _failed("make the folder", path, error) from None

    def remove(self, path: str) -> None:
        real = self._real(path)
        try:
            os.unlink(real)
            _sync_folder(real)
        except (FileNotFoundError, NotADirectoryError):
            return
        except OSError as error:
            # a file system that is mounted read-only says so before it looks for the name
            if error.errno != errno.EROFS or os.path.lexists(real):
                raise _failed("remove", path, error) from None

    def remove_folder(self, path: str) -> bool:
        try:
            os.rmdir(self._real(path))
        except OSError as error:
            if error.errno in (errno.ENOENT, errno.ENOTDIR, errno.ENOTEMPTY, errno.EEXIST):
                return False
            if error.errno == errno.EROFS and not os.path.lexists(self._real(path)):
                return False
            raise _failed("remove", path, error) from None
        return True

    def remove_tree(self, path: str) -> None:
        real = self._real(path)
        if path.count("/") < 2 or path.endswith("/"):
            raise ChangeFailed(f"{path} is not removed as a whole")
        try:
            shutil.rmtree(real)
        except FileNotFoundError:
            return
        except OSError as error:
            raise _failed("remove", path, error) from None

    def append(self, path: str, data: bytes) -> None:
        real = self._real(path)
        try:
            fresh = not os.path.lexists(real)
            descriptor = os.open(real, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
            try:
                _write_all(descriptor, data)
                os.fsync(descriptor)
            finally:
                os.close(descriptor)
            if fresh:
                _sync_folder(real)
        except OSError as error:
            raise _failed("write", path, error) from None

    # locks ---------------------------------------------------------------------------------------------------

    @contextlib.contextmanager
    def lock(self, path: str) -> Iterator[None]:
        try:
            descriptor = os.open(self._real(path), os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise _failed("open the lock", path, error) from None
        try:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                holder = os.pread(descriptor, 20, 0).decode("ascii", "replace").strip()
                who = f" (process {holder})" if holder.isdigit() else ""
                raise ChangeFailed(f"another rocmdoctor{who} is changing this machine; wait until it has ended") from None
            os.ftruncate(descriptor, 0)
            os.pwrite(descriptor, f"{os.getpid()}\n".encode(), 0)
            yield
        finally:
            os.close(descriptor)  # which gives the lock back

    def room(self, path: str) -> tuple[int, int] | None:
        real = self._real(path)
        while not os.path.exists(real) and "/" in real.strip("/"):
            real = real.rpartition("/")[0]
        try:
            space = os.statvfs(real or "/")
            return os.stat(real or "/").st_dev, space.f_bavail * space.f_frsize
        except OSError:
            return None

    def lock_holder(self, path: str) -> int | None:
        try:
            descriptor = os.open(self._real(path), os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK)
        except OSError:
            return None
        try:
            # struct flock of Linux with 64-bit offsets: type, whence, start, len, pid
            asked = struct.pack("hhqqi4x", fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0)
            answer = struct.unpack("hhqqi4x", fcntl.fcntl(descriptor, fcntl.F_GETLK, asked))
        except OSError:
            return None
        finally:
            os.close(descriptor)
        return None if answer[0] == fcntl.F_UNLCK else int(answer[4])

    # programs and downloads ----------------------------------------------------------------------------------

    def run(
        self,
        argv: Sequence[str],
        log: str,
        environment: Mapping[str, str] | None = None,
        timeout: float | None = None,
        heard: Callable[[], None] | None = None,
    ) -> Command:
        if self._root:
            raise ChangeFailed("programs are not run in a foreign root")
        from rocmdoctor.host import programs

        passed = {name: value for name, value in self._environment.items() if name in _KEPT or name.lower() in _SECRET_FREE}
        # dpkg asks no question, needrestart neither; a pager or a colour has no place in a log
        own = {"PATH": SYSTEM_PATH, "LC_ALL": "C.UTF-8", "DEBIAN_FRONTEND": "noninteractive", "NEEDRESTART_MODE": "l"}
        own |= {"TERM": "dumb", "PIP_DISABLE_PIP_VERSION_CHECK": "1", "PIP_NO_INPUT": "1", **(environment or {})}
        program = find_program(argv[0], own["PATH"])
        if program is None:
            return Command(tuple(argv), None, 127, "", "")
        return programs.run_logged(tuple(argv), program, {**passed, **own}, log, TAIL, timeout, heard)

    def fetch(self, url: str, limit: int, ca: str | None = None) -> bytes:
        from rocmdoctor.host import programs

        try:
            return programs.download(url, limit, ca)
        except OSError as error:
            raise ChangeFailed(f"{url} cannot be fetched: {error}") from None


def _failed(what: str, path: str, error: OSError) -> ChangeFailed:
    hints = {errno.ENOSPC: "the disk is full", errno.EDQUOT: "the quota is used up", errno.EROFS: "the file system is read-only"}
    return ChangeFailed(f"cannot {what} {path}: {hints.get(error.errno or 0) or reason(error)}")


def _write_all(descriptor: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]


def _sync_folder(path: str) -> None:
    """A rename is on the disk when its folder is."""
    descriptor = os.open(path.rpartition("/")[0] or "/", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
