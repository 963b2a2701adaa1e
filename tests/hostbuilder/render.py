"""From a Spec to the four parts of a snapshot."""

from __future__ import annotations

from typing import Any

from tests.hostbuilder import driver_files, kfd_sysfs, pci_sysfs, python_files, repo_files, rocm_tree, system_files
from tests.hostbuilder.kernel_text import kernel_log
from tests.hostbuilder.out import Out
from tests.hostbuilder.package_db import Package, render_packages
from tests.hostbuilder.resolved import Resolved
from tests.hostbuilder.rocminfo_text import render_tools
from tests.hostbuilder.spec import Op, Snapshot, Spec


def render(spec: Spec) -> Snapshot:
    """Write the host down, then apply the changes that tests asked for by path, command or package, in their order."""
    host, out = Resolved(spec), Out()
    system_files.render_system(out, host)
    pci_sysfs.render_pci(out, host)
    kfd_sysfs.render_kfd(out, host)
    pci_sysfs.render_devices(out, host)
    driver_files.render_driver(out, host)
    rocm_tree.render_trees(out, host)
    rocm_tree.render_loader(out, host)
    repo_files.render_repos(out, host)
    extra: dict[str, Package | None] = {op.first: op.second for op in spec.ops if op.kind == "package"}
    render_packages(out, host, extra)
    python_files.render_python(out, host)
    render_tools(out, host, rocm_tree.tool_folder(host))
    if not host.container:
        out.command(("dmesg",), "/usr/bin/dmesg", kernel_log(host))
    meta = system_files.meta(host)
    for op in spec.ops:
        _apply(op, meta, out)
    # A path has either content or a link or folder entry of its own.
    for path, node in out.nodes.items():
        if node["type"] in ("link", "char", "block", "dir") and path in out.files:
            del out.files[path]
    return Snapshot(meta, out.files, out.nodes, list(out.commands.values()))


def _remove(path: str, out: Out) -> None:
    """A path and all below it; "/sys/module/amdgpu" as well as single files."""
    below = f"{path}/"
    for table in (out.files, out.nodes):
        for known in [p for p in table if p == path or p.startswith(below)]:
            del table[known]


def _apply(op: Op, meta: dict[str, Any], out: Out) -> None:
    if op.kind == "file":
        out.nodes.pop(op.first, None)
        out.file(op.first, op.second)
    elif op.kind == "remove":
        _remove(op.first, out)
    elif op.kind == "node":
        if op.second.get("type", "file") != "file":
            out.files.pop(op.first, None)
        elif op.first not in out.files and op.first not in out.nodes:
            out.file(op.first)
        out.nodes[op.first] = {**out.nodes.get(op.first, {}), **op.second}
    elif op.kind == "command":
        out.commands[tuple(op.first)] = {"argv": list(op.first), **op.second}
    elif op.kind == "no-command":
        for argv in [a for a in out.commands if a[0] == op.first]:
            del out.commands[argv]
    elif op.kind == "meta":
        meta[op.first] = op.second
    elif op.kind == "filesystem":
        meta["filesystems"][op.first] = op.second
