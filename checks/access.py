"""May the asked user open the compute nodes, now? Group membership is only one way to that (rules.md 19-22)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from rocmdoctor.checks import remedies
from rocmdoctor.checks.installed import computes_elsewhere
from rocmdoctor.checks.remedies import recheck, write
from rocmdoctor.engine import NotApplicable, check
from rocmdoctor.results import Evidence, Finding, Fix, Status

if TYPE_CHECKING:
    from rocmdoctor.facts import Facts
    from rocmdoctor.facts.access import DeviceNode
    from rocmdoctor.matrix import Matrix

VERIFY = recheck("permissions.*")
UDEV_FILE = "/etc/udev/rules.d/70-kfd.rules"
GIVE_TO_RENDER = (
    write(UDEV_FILE, 'KERNEL=="kfd", GROUP="render", MODE="0660"'),
    ("udevadm", "control", "--reload-rules"),
    ("udevadm", "trigger", "--name-match=kfd"),
)
OVERFLOW_GID = 65534
"""The gid that a user namespace shows for groups that it does not map (/proc/sys/kernel/overflowgid)."""


@check(
    "permissions.kfd-access",
    title="The user can open /dev/kfd",
    after=["kfd_node.opens", "kfd_node.present", "container.devices", "container.nodes-open"],
    places=("bare-metal", "vm", "container"),
    docs=[remedies.ROCM_PREREQUISITES],
)
def kfd_access(facts: Facts, matrix: Matrix) -> Iterator[Finding]:
    """Opens /dev/kfd read-write as the asked user. What counts is whether that works now: world-open nodes, ACLs and logind seats
    are as good as a group. After `usermod` a running session does not have the new group yet."""
    kfd = facts.access.kfd
    if not kfd.exists or kfd.open != "EACCES":
        return
    if computes_elsewhere(facts):
        raise NotApplicable("an NVIDIA GPU is here, no ROCm, and the AMD GPU is only the processor's own graphics")
    yield _denied(facts, [kfd, *(n for n in facts.access.render if n.open == "EACCES")])


@check(
    "permissions.render-access",
    title="The user can open the GPU's render nodes",
    after=["permissions.kfd-access", "container.devices"],
    places=("bare-metal", "vm", "container"),
    docs=[remedies.ROCM_PREREQUISITES],
)
def render_access(facts: Facts, matrix: Matrix) -> Iterator[Finding]:
    """Opens each /dev/dri/renderD* that belongs to an AMD GPU read-write as the asked user. ROCm needs it beside /dev/kfd."""
    minors = {n.render_minor for g in facts.gpus for n in g.kfd if n.render_minor}
    denied = [n for n in facts.access.render if n.open == "EACCES" and (not minors or n.minor in minors)]
    if denied and not computes_elsewhere(facts):
        yield _denied(facts, denied)


def _denied(facts: Facts, nodes: list[DeviceNode]) -> Finding:
    user = facts.user
    first = nodes[0]
    evidence = (
        *tuple(Evidence(n.path, n.described) for n in nodes[:3]),
        Evidence("groups of this session", " ".join(map(str, sorted(user.groups)))),
    )
    if first.others_may or (first.group_may and first.gid in user.groups):
        return _confined(facts, first, evidence)
    groups = sorted({n.group for n in nodes if n.group and n.gid and n.mode & 0o060 == 0o060})
    gids = sorted({n.gid for n in nodes if n.gid and n.mode & 0o060 == 0o060})
    if not (first.gid and first.group_may):  # the first of them is root's alone: groups of the others do not help
        groups, gids = [], []
    if facts.place.kind == "container":
        return Finding(
            Status.FAIL, f"{user.name} cannot open {first.path} in this container", *_container(facts, first, gids, evidence)
        )
    if gids and set(gids) <= user.database_groups:
        return Finding(
            Status.FAIL,
            f"{user.name} is in the group {' and '.join(groups) or gids[0]}, but this session has not got it yet",
            "Groups are given at login. The account has the right group now; sessions, tmux servers and services that were "
            "started before do not.",
            (*evidence, Evidence("groups of the account", " ".join(map(str, sorted(user.database_groups))))),
            (
                Fix(
                    "Start a new session: terminal multiplexers and services that run must be restarted too",
                    needs=("relogin",),
                    verify=VERIFY,
                ),
            ),
        )
    if not groups:
        return Finding(
            Status.FAIL,
            f"{user.name} cannot open {first.path}: no group can, by its mode",
            "The node belongs to root alone. The udev rule that gives it to the render group is missing (AMD's driver "
            "package or udev's own "
            "50-udev-default.rules brings it).",
            evidence,
            (
                Fix(
                    f"Write a udev rule to {UDEV_FILE} that gives the node to the render group, and apply it",
                    GIVE_TO_RENDER,
                    needs=("root",),
                    verify=VERIFY,
                ),
            ),
        )
    wanted = groups + [g for g in ("video",) if g in facts.groups and g not in groups]
    joined = " and ".join(wanted)
    return Finding(
        Status.FAIL,
        f"{user.name} cannot open {first.path}",
        f"The node is open to {' and '.join(groups)} only, and {user.name} is not in that group, so every ROCm program of "
        "this user finds no GPU.",
        evidence,
        (
            Fix(
                f"Add {user.name} to the {joined} group{'s' if len(wanted) > 1 else ''}",
                (("usermod", "-a", "-G", ",".join(wanted), user.name),),
                needs=("root", "relogin"),
                automatic=True,
                verify=VERIFY,
            ),
            Fix(
                "On a cluster with directory accounts: let pam_group add the group at login, or open the nodes to everyone "
                "by a udev rule "
                '(KERNEL=="kfd", MODE="0666"; SUBSYSTEM=="drm", KERNEL=="renderD*", MODE="0666"), as AMD documents',
                needs=("root",),
                verify=VERIFY,
            ),
        ),
    )


def _confined(facts: Facts, node: DeviceNode, evidence: tuple[Evidence, ...]) -> Finding:
    """The mode lets the user in and the kernel refuses all the same: a security module, which no group appeases."""
    found = facts.confinement
    seen = (Evidence("/proc/self/attr/current", found.context),) if found.context else ()
    who = f"{found.module}, which confines this process," if found.module else "A security module (SELinux, AppArmor)"
    fixes: tuple[Fix, ...]
    if facts.place.kind == "container" and found.module != "AppArmor":
        program = "podman" if facts.place.container == "podman" else "docker"
        fixes = (
            Fix(
                "Start the container without SELinux's separation (--security-opt label=disable)",
                ((program, "run", "--security-opt", "label=disable", "--device=/dev/kfd", "--device=/dev/dri", "IMAGE"),),
                verify=VERIFY,
            ),
            Fix(
                "Let all containers use devices: on the host, set SELinux's switch container_use_devices",
                (("setsebool", "-P", "container_use_devices", "on"),),
                needs=("root",),
                verify=VERIFY,
            ),
        )
    else:
        fixes = (
            Fix(
                "Look for the refusal in the audit log or the kernel's (`ausearch -m avc -ts recent`, `journalctl -k`), and "
                f"allow {node.path} in the profile, snap or service that it names",
                verify=VERIFY,
            ),
        )
    return Finding(
        Status.FAIL,
        f"{facts.user.name} cannot open {node.path}, although its mode allows it",
        f"{who} refuses what owner, group and mode permit: more groups do not help.",
        (*evidence, *seen),
        fixes,
    )


def _container(
    facts: Facts, node: DeviceNode, gids: list[int], evidence: tuple[Evidence, ...]
) -> tuple[str, tuple[Evidence, ...], tuple[Fix, ...]]:
    """Detail, evidence and fixes inside a container: the group must come from outside (rules.md 21)."""
    place = facts.place
    unmapped = node.gid == OVERFLOW_GID or node.uid == OVERFLOW_GID
    if place.rootless or unmapped:
        return (
            "This is a rootless container: its user namespace does not map the host's render group, so the process is "
            "outside of that "
            "group whatever its name or uid in here.",
            (*evidence, Evidence("/proc/self/uid_map", "; ".join(" ".join(map(str, m)) for m in place.uid_map[:3]))),
            (
                Fix(
                    "Keep the host user's groups: put the host user into the render group, then start the container with "
                    "--group-add keep-groups (podman, crun)",
                    (("podman", "run", "--group-add", "keep-groups", "--device=/dev/kfd", "--device=/dev/dri", "IMAGE"),),
                    verify=VERIFY,
                ),
                Fix("Run the container rootful (sudo podman run ... or docker)", needs=("root",)),
            ),
        )
    if not gids:
        return (
            "By its mode the node belongs to root alone, here and on the host: no --group-add can help.",
            evidence,
            (
                Fix(
                    f"On the host, write a udev rule to {UDEV_FILE} that gives the node to the render group, and apply it; start "
                    "the container again with --group-add and that group's number",
                    GIVE_TO_RENDER,
                    needs=("root",),
                    verify=VERIFY,
                ),
            ),
        )
    return (
        f"The nodes belong to gid {gids[0]} of the host{'' if node.group else ', which has no name in here'}; the process is "
        "not in it. "
        "What counts is the number: it must be the host's.",
        evidence,
        (_into_the_group(facts, node, gids),),
    )


def _into_the_group(facts: Facts, node: DeviceNode, gids: list[int]) -> Fix:
    """How a process in a container of this kind gets into the nodes' group."""
    engine = facts.place.container
    numbers = " and ".join(map(str, gids))
    if engine == "kubernetes":
        return Fix(
            f"Add the group's number to the pod: securityContext: supplementalGroups: [{', '.join(map(str, gids))}] (the "
            "group-add of Kubernetes)",
            verify=VERIFY,
        )
    if engine in ("lxc", "systemd-nspawn"):
        return Fix(
            f"Give the device entries a gid that {facts.user.name} is in (Proxmox: dev0: /dev/kfd,gid=N), or put "
            f"{facts.user.name} into a group of the number {numbers} inside the container",
            (("usermod", "-a", "-G", node.group, facts.user.name),) if node.group else (),
            needs=("root", "relogin"),
            verify=VERIFY,
        )
    if engine == "apptainer":
        return Fix(
            f"The process is the host's user in here: on the host, add {facts.user.name} to the group {numbers}",
            (("usermod", "-a", "-G", numbers.split(" ")[0], facts.user.name),),
            needs=("root", "relogin"),
            verify=VERIFY,
        )
    program = "podman" if engine == "podman" else "docker"
    options = tuple(part for g in gids for part in ("--group-add", str(g)))
    return Fix(
        f"Start the container with --group-add {gids[0]}, the numeric group of the host's nodes (compose: group_add)",
        ((program, "run", "--device=/dev/kfd", "--device=/dev/dri", *options, "IMAGE"),),
        verify=VERIFY,
    )
