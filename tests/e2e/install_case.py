"""One machine to install on: a distribution, its GPUs, the mirror that plays AMD's hosts, and rocmdoctor in it."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import textwrap
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType

from tests.e2e import dress, files
from tests.e2e.base_root import TREE, base_root, product_python
from tests.e2e.cache import cache_folder
from tests.e2e.hardware import Hardware
from tests.e2e.mirror import PROXY_PORT, UNION, Mirror, NetworkNamespace
from tests.e2e.packages.site import Site, site
from tests.e2e.root import Done, Root

PROGRAM = "/.e2e/python/bin/rocmdoctor"
AMD_FINGERPRINTS = {"radeon": "CA8BB4727A47B4D09B4EE8969386B48A1A693C5C", "amdrocm": "D0F004A0025A1145C7807FCD0701EAC4D5E02107"}
"""What compat_matrix.yaml pins. Nobody but AMD can sign with these keys, so every case runs with a copy of the matrix in which
only they are replaced by those of the throw-away keys."""
_LOCK = """
import fcntl, sys, time
file = open(sys.argv[1], 'a')
fcntl.lockf(file, fcntl.LOCK_EX)
print('held', flush=True)
time.sleep(3600)
"""


class Parts:
    """What all cases share: the base root, the site, the environment of the product. Built at the first use."""

    def __init__(self, cache: Path | None = None) -> None:
        self.cache = cache or cache_folder()
        self.base = base_root(self.cache)
        self.site: Site = site(self.cache)
        self.python = product_python(self.cache, self.base)
        self.pycache = self.cache / "pycache"
        self.pycache.mkdir(exist_ok=True)


class InstallCase:
    """Close it at the end (or use `with`): nothing of it is left. See README.md for examples."""

    def __init__(
        self,
        distribution: str,
        gpu: str | Sequence[str] = "gfx1100",
        *,
        driver: str | None = "inbox",
        disk: str = "200g",
        trust: bool = True,
        proxy: bool = False,
        parts: Parts | None = None,
    ) -> None:
        """`distribution`: one of dress.DISTRIBUTIONS. `gpu`: gfx targets, () for none. `driver` None: the kernel's own module is
        not installed, so nothing is loaded. `disk`: size of all that can be written; what is written lies in memory. `trust`
        False: the mirror's certificate authority is not trusted by the system (it lies at /.e2e/state/authority.pem). `proxy`:
        names resolve nowhere, and only the proxy at `proxy_url` leads out."""
        parts = parts or Parts()
        self.name = distribution
        self._closed = False
        self.distro = dress.distro(distribution)
        self.family = self.distro.family
        self.site = parts.site
        self.network = NetworkNamespace()
        self.proxy_url = f"http://127.0.0.1:{PROXY_PORT}"
        self.mirror_url = f"https://{UNION}"
        layer = dress.layer(parts.cache, distribution, parts.base, parts.site, lambda: self.network)
        self.root = Root(
            [layer, parts.base], self.network, mount_point=parts.cache / "mnt", size=disk, hostname="host",
            binds={"/.e2e/tree": TREE, "/.e2e/python": parts.python}, writable={"/.e2e/pycache": parts.pycache},
        )  # fmt: skip
        self.mirror = Mirror(parts.site, self.network)
        if driver is None:
            self._without_module()
        self.root.write("/.e2e/state/authority.pem", parts.site.certificates.authority.read_bytes())
        if not trust:
            self._distrust()
        if proxy:
            self.root.write("/etc/hosts", "127.0.0.1 localhost\n")
        gpus = (gpu,) if isinstance(gpu, str) else tuple(gpu)
        self._hardware = Hardware(self.root, self.distro, gpus)
        self.matrix = "/.e2e/state/matrix.yaml"
        """The matrix of the case, for `--matrix`; it also lies over the tree's own, so that the option is not needed."""
        self.root.write(self.matrix, "")
        self.pin()
        self.root.mount("--bind", self.matrix, "/.e2e/tree/compat_matrix.yaml")

    def __enter__(self) -> InstallCase:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        if self._closed:
            return
        self._closed = True
        self.root.close()
        self.mirror.close()
        self.network.close()

    def _without_module(self) -> None:
        if self.distro.id == "ubuntu":
            self.root.run(["dpkg", "--purge", f"linux-modules-extra-{self.distro.kernel}"]).ok()
        else:
            self.root.shell(f"rm -rf /lib/modules/{self.distro.kernel}/kernel/drivers/gpu").ok()

    def _distrust(self) -> None:
        self.root.path("/usr/local/share/ca-certificates/e2e.crt").unlink()
        self.root.run(["update-ca-certificates", "--fresh"]).ok()

    # the product -----------------------------------------------------------------------------------------------

    def pin(self, radeon: str = "radeon", amdrocm: str = "amdrocm") -> None:
        """Write the case's matrix: AMD's fingerprints replaced by those of these keys of the site."""
        text = (TREE / "compat_matrix.yaml").read_text()
        for publisher, key in (("radeon", radeon), ("amdrocm", amdrocm)):
            known = AMD_FINGERPRINTS[publisher]
            assert known in text, f"compat_matrix.yaml does not pin {known}"
            text = text.replace(known, self.site.keys[key].fingerprint)
        self.root.path(self.matrix).write_text(text)

    def rocmdoctor(
        self,
        *argv: str,
        env: Mapping[str, str] | None = None,
        user: str | None = None,
        timeout: float = 180.0,
        kill_at: int | None = None,
        kill_path: str = "journal",
    ) -> Done:
        """Run the program as root (or `user`) without a terminal. `kill_at` N: it is killed (SIGKILL) right after it has synced a
        file with `kill_path` in its path for the N-th time; the result's `rc` is then -9, or 0 and more when it ended before."""
        words = [PROGRAM, *argv]
        own = dict(env or {})
        if user is not None:
            words = ["setpriv", "--reuid", user, "--regid", user, "--init-groups", *words]
            own = {"HOME": f"/home/{user}", "USER": user, "LOGNAME": user} | own
        if kill_at is not None:
            own |= {"E2E_KILL_AT": str(kill_at), "E2E_KILL_PATH": kill_path}
        return self.root.run(words, env=own, timeout=timeout)

    def popen(self, *argv: str, env: Mapping[str, str] | None = None) -> subprocess.Popen[str]:
        """The program left running, in a session of its own (os.killpg ends it with its children)."""
        return self.root.popen([PROGRAM, *argv], env=env)

    # the machine -----------------------------------------------------------------------------------------------

    def run(self, *argv: str, **more: object) -> Done:
        """Another program, as root; keywords of Root.run."""
        return self.root.run(argv, **more)  # type: ignore[arg-type]

    def shell(self, script: str, **more: object) -> Done:
        return self.root.shell(textwrap.dedent(script), **more)

    def read(self, path: str) -> str:
        return self.root.read(path)

    def write(self, path: str, text: str | bytes, mode: int = 0o644) -> None:
        self.root.write(path, text, mode)

    def exists(self, path: str) -> bool:
        return self.root.exists(path)

    def reboot(self) -> None:
        """A new boot id, empty /run and /tmp, and the driver loaded that is installed now: DKMS's module when it has one for the
        running kernel, else the kernel's own."""
        self._hardware.boot()

    def dkms_fails(self) -> None:
        """From now on DKMS cannot build for the running kernel."""
        self.write("/.e2e/state/dkms-fails", f"{self.distro.kernel}\n")

    @contextlib.contextmanager
    def lock_held(self, path: str) -> Iterator[None]:
        """Another program holds a POSIX lock on the file (/var/lib/dpkg/lock-frontend, /var/lib/rpm/.rpm.lock)."""
        holder = self.root.popen(["/usr/bin/python3", "-c", _LOCK, path])
        assert holder.stdout is not None and holder.stderr is not None
        if holder.stdout.readline() != "held\n":
            raise AssertionError(f"{path} could not be locked: {holder.stderr.read()}")
        try:
            yield
        finally:
            self._end(holder)

    @contextlib.contextmanager
    def running(self, *argv: str) -> Iterator[None]:
        """A program that runs meanwhile."""
        process = self.root.popen(argv)
        time.sleep(0.1)
        try:
            yield
        finally:
            self._end(process)

    @staticmethod
    def _end(process: subprocess.Popen[str]) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()

    @contextlib.contextmanager
    def read_only(self, path: str) -> Iterator[None]:
        """The folder is on a file system that is mounted read-only."""
        self.root.mount("--bind", "-o", "ro", path, path)
        try:
            yield
        finally:
            self.root.unmount(path)

    @contextlib.contextmanager
    def small_disk(self, path: str, size: str = "64k") -> Iterator[None]:
        """The folder is a file system of its own that has that little room; what was in it is in it."""
        kept = self.root.run(["tar", "-C", path, "-cf", "/tmp/small-disk.tar", "."])
        kept.ok()
        self.root.mount("-t", "tmpfs", "-o", f"size={size},mode=0755", "small", path)
        try:
            self.root.run(["tar", "-C", path, "-xf", "/tmp/small-disk.tar"])
            yield
        finally:
            self.root.unmount(path)

    # comparing -------------------------------------------------------------------------------------------------

    def snapshot_of_files(self) -> files.Files:
        """Every file of the system now; compare two with `before.changes(after)`, which is empty when nothing differs."""
        return files.picture(self.root)

    def package_set(self) -> dict[str, str]:
        """Installed packages with versions, states and marks."""
        return files.package_set(self.root, self.family)

    def installed(self, pattern: str) -> list[str]:
        """Names of installed packages that match a regular expression wholly."""
        packages = self.package_set().items()
        return sorted(name for name, version in packages if re.fullmatch(pattern, name) and "config-files" not in version)
