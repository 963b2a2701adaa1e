"""Fixtures of the end-to-end tests: skipped with a reason where namespaces or tools are missing, unless they are required."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest

from tests.e2e.install_case import InstallCase, Parts

TOOLS = ("mmdebstrap", "rpmbuild", "rpmsign", "createrepo_c", "gpg", "openssl", "gcc", "unshare", "nsenter", "apt-get")
"""tests/e2e/setup installs what is missing."""


def obstacle() -> str | None:
    """Why the end-to-end tests cannot run here."""
    if os.geteuid() != 0:
        return "not root: namespaces, mounts and package managers need it"
    missing = [tool for tool in TOOLS if shutil.which(tool) is None]
    if missing:
        return f"{', '.join(missing)} not installed: run tests/e2e/setup"
    probe = ["unshare", "--mount", "--uts", "--ipc", "--net", "--pid", "--fork", "sh", "-c"]
    probe.append("mount --make-rprivate / && mount -t tmpfs e2e /mnt")
    done = subprocess.run(probe, capture_output=True, text=True)
    if done.returncode:
        return f"no namespaces here: {done.stderr.strip()}"
    return None


@pytest.fixture(scope="session")
def parts() -> Parts:
    """The base root, the packages and the keys; built at the first use (a minute or so), then taken from the cache.

    ROCMDOCTOR_E2E=require turns a skip into a failure, ROCMDOCTOR_E2E=skip leaves these tests out.
    """
    wish = os.environ.get("ROCMDOCTOR_E2E", "")
    reason = "ROCMDOCTOR_E2E=skip" if wish == "skip" else obstacle()
    if reason is not None:
        if wish == "require":
            pytest.fail(f"end-to-end tests are required, but: {reason}")
        pytest.skip(reason)
    return Parts()


Machine = Callable[..., InstallCase]


@pytest.fixture
def machine(parts: Parts) -> Iterator[Machine]:
    """Makes machines (the arguments of InstallCase) that are gone after the test."""
    with ExitStack() as stack:

        def make(distribution: str, *args: object, **more: object) -> InstallCase:
            return stack.enter_context(InstallCase(distribution, *args, parts=parts, **more))  # type: ignore[arg-type]

        yield make
