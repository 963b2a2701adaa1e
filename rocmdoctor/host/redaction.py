"""Takes out of a snapshot what identifies people and machines, and nothing that a check judges by.

The same original always gets the same replacement, so that what was equal stays equal. Numbers that look like an address but
are versions stay: package data is left alone, and addresses are sought only where addresses occur.
"""

from __future__ import annotations

import re
import socket
from collections.abc import Iterable, Mapping

from rocmdoctor.host import Command, User

_URL_USER = re.compile(r"(?P<scheme>\b[A-Za-z][A-Za-z0-9+.-]{0,20}://)[^\s/@\"'<>]+@")
_URL_SECRET = re.compile(r"(?i)([?&;](?:access_?token|token|api_?key|key|sig|signature|password|passwd|secret)=)[^&\s\"'#]+")
_ASSIGNED_SECRET = re.compile(r"(?im)^([ \t]*(?:(?:proxy_)?(?:password|username)|passwd|token|secret)[ \t]*[=:][ \t]*)\S.*$")
_UUID = re.compile(r"(?<![0-9A-Za-z])[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}(?![0-9A-Za-z])")
_UUID_KEY = re.compile(r"\b((?:PART)?UUID=)([0-9A-Fa-f-]{4,36})(?![0-9A-Za-z-])")
_GPU_UUID = re.compile(r"\bGPU-([0-9A-Fa-f]{16})\b")
_MACHINE_ID = re.compile(r"\b((?:machine|boot)[_-]id=)([0-9A-Fa-f]{32})\b")
_MAC = re.compile(r"(?<![0-9A-Za-z:])(?:[0-9A-Fa-f]{2}:){5}(?:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}:)?[0-9A-Fa-f]{2}(?![0-9A-Za-z:])")
_IPV4 = re.compile(r"(?<![\w.+~-])(\d{1,3}(?:\.\d{1,3}){3})(?![\w+~-]|\.\d)")
_VERSION_BEFORE = re.compile(r"(?i)(?:version|ver|release|revision|firmware|fw|driver|bios|v)\.?[\s:=(\[\"']*$")
_IPV6 = re.compile(r"(?<![\w:.])[0-9A-Fa-f]{1,4}:[0-9A-Fa-f:]{2,38}(?![\w:])")
_HOME = r"(?P<lead>/home/)(?P<home>[^/\s:;,\"'\\*?<>|()\[\]{}]+)"
_GROUP_COMPLAINT = re.compile(r"(?m)^([a-z_][\w-]{0,31})(?= is not member of )")
"""What rocminfo says of the user who may not open the device nodes."""
_LOCAL_HOST = re.compile(r"(?i)(?<=://)((?:[\w-]+\.)+(?:local|lan|internal|intranet|intra|corp|home\.arpa))(?![\w.-]*\w)")
_JOURNAL = re.compile(r"(?m)^(\w{3} [ \d]\d \d\d:\d\d:\d\d(?:\.\d+)? |\d{4}-\d\d-\d\dT\S+ )([\w.-]+)(?= [^\s:\[]+(?:\[\d+\])?:)")
_SERIAL_KEY = re.compile(
    r"(?i)(?P<key>(?:serial(?:[ _]?(?:number|no))?|unique[_ ]?id|uuid|hive[_ ]id|s/n)\"?"
    r"(?:[ \t]*[:=][ \t]*\"?|[ \t]+(?=(?:0x)?[0-9a-f]+[ \t]*$)))(?P<value>[0-9A-Za-z][\w:.-]*)",
    re.MULTILINE,
)
_NOT_SERIAL = re.compile(
    r"(?i)(?:0x)?0*|0000-\d{4}|n|n/?a|none|unknown|unset|not|no|yes|supported|[cg]pu(-\w+)?|console|port|driver|\d{1,3}"
)

_INDEX_VARIABLE = re.compile(r"^(PIP|UV)_.*(INDEX|FIND_LINKS|URL)")
"""Where pip and uv find packages: often a mirror of the company's own."""
_URL_HOST = re.compile(r"(://(?:[^/\s@]*@)?)([^:/\s@\[\]]+)")

EFI_GUIDS = frozenset(
    {
        "8be4df61-93ca-11d2-aa0d-00e098032b8c",  # EFI global variables: SecureBoot, SetupMode
        "d719b2cb-3d3a-4596-a3bc-dad00e67656f",  # image security database: db, dbx
        "605dab50-e046-4300-abb6-3dd810dd8b23",  # shim: MokListRT
    }
)
"""GUIDs that name things, not machines (UEFI specification 2.10; shim)."""

_COMMON = frozenset(
    """admin administrator all amd amdgpu ansible any app apps apt aqua arch bin blas boot build builder bus card cdna centos
    clang client cloud cluster comgr compute conda container core current daemon data debian deck default desktop dev developer
    developers device dkms dnf docker dpkg driver drm easybuild ec2-user efi epyc etc fedora fft firmware gcc gdm gpu gpu0 group
    grub guest hawk hip home host hsa instinct jax job jobs jupyter kernel krackan laptop latest lib lightdm linux live llvm
    lmod local localhost lsf main manjaro max mem mesa mi100 mi200 mi210 mi250 mi300 mi300x mi325x mi350x mi50 min mint miopen
    module modules mok navi network nobody node node0 node1 numpy nvidia nvme ollama opencl opensuse opt pbs pci phoenix pip
    plugdev polaris proc puppet python pytorch pytorch-triton radeon rand raphael raven rccl rdna redhat release rembrandt
    render renoir rhel rocky rocm root rpm run runner ryzen sbin scratch sda sddm server service shared shim slurm software
    solver source spack sparse stable staff steam strix sudo suse sys system tensile tensorflow test testing threadripper tmp
    torch triton ubuntu unknown user users usr uv vagrant var vega vega10 vega20 venv version video virtual vllm vm wayland
    windows workspace workstation wsl xorg yum zypper""".split()  # noqa: SIM905
)
"""Names of people and machines that are also words of the texts: replaced only where they can be nothing else."""

_PACKAGE_DATA = re.compile(
    r"^/(var/lib/(dpkg|rpm|pacman)/|(usr/lib|etc)/os-release$|proc/(modules|cpuinfo|meminfo|version)$"
    r"|(usr/)?lib/modules/[^/]+/modules\.)|/\.info/|\.(dist|egg)-info/(METADATA|PKG-INFO|RECORD|WHEEL)$|/version\.py$"
)
"""Files that a check compares character by character and that hold neither people nor machines."""
_VERSIONED = re.compile(r"^/(sys|usr|opt|lib|var/lib/dkms)/|site-packages/|/proc/self/limits$")
_PACKAGE_COMMANDS = frozenset({"rpm", "dpkg-query", "pacman"})
_ADDRESS_COMMANDS = frozenset({"dmesg", "journalctl", "ip", "hostname"})
_HOST_VARIABLE = re.compile(r"HOST|NODELIST|NODENAME|_ADDR|_CLUSTER_NAME|_JOB_NAME|_ACCOUNT")


class Redactor:
    """Replacements for one snapshot. `user` is the asking user; `others` further accounts; `hosts` names of the machine."""

    def __init__(self, user: User | None = None, others: Iterable[str] = (), hosts: Iterable[str] = ()) -> None:
        self._given: dict[tuple[str, str], str] = {}
        self._counts: dict[str, int] = {}
        self._users: dict[str, str] = {}
        if user is not None:
            self._add_user(user.name)
        for name in others:
            self._add_user(name)
        self._hosts: dict[str, str] = {}
        for name in sorted({h.strip() for h in hosts if h.strip()}, key=lambda h: (-len(h), h)):
            if name.lower() not in ("localhost", "localhost.localdomain"):
                self._hosts[name] = self._host(name)
        # One pass, so that no replacement is replaced again; longest first, so that a name within another does not win.
        self._words = {n: r for n, r in {**self._hosts, **self._users}.items() if len(n) > 2 and n.lower() not in _COMMON}
        words = "|".join(re.escape(n) for n in sorted(self._words, key=lambda n: (-len(n), n)))
        self._names = re.compile(rf"{_HOME}|(?<!\w)(?P<word>{words})(?!\w)" if words else _HOME)

    def _add_user(self, name: str) -> None:
        if name and name not in self._users:
            self._users[name] = "root" if name == "root" else self._replacement("user", name, "user{}")

    def _replacement(self, kind: str, original: str, form: str) -> str:
        key = (kind, original)
        known = self._given.get(key)
        if known is None:
            number = self._counts[kind] = self._counts.get(kind, 0) + 1
            known = self._given[key] = form.format(number)
        return known

    def _host(self, name: str) -> str:
        """With or without its domain, one machine has one replacement."""
        return self._replacement("host", name.partition(".")[0], "host{}")

    # parts of texts ------------------------------------------------------------------------------------------

    def _uuid(self, found: re.Match[str]) -> str:
        text = found.group().lower()
        return found.group() if text in EFI_GUIDS or not text.strip("0-") else self._new_uuid(text)

    def _new_uuid(self, text: str) -> str:
        return self._replacement("uuid", text, "00000000-0000-4000-8000-{:012d}")

    def _uuid_key(self, found: re.Match[str]) -> str:
        value = found.group(2)
        if _UUID.fullmatch(value):
            return found.group()  # replaced with the others
        return found.group(1) + self._replacement("short-uuid", value.lower(), "0000-{:04d}")

    def _mac(self, found: re.Match[str]) -> str:
        text = found.group().lower()
        if not text.strip("0:") or not text.strip("f:"):
            return found.group()
        return self._replacement("mac", text, "02:00:00:00:00:{:02x}" if len(text) == 17 else "02:00:00:00:00:00:00:{:02x}")

    def _ipv4(self, found: re.Match[str]) -> str:
        text = found.group(1)
        parts = [int(p) for p in text.split(".")]
        before = found.string[max(0, found.start() - 16) : found.start()]
        if max(parts) > 255 or parts[0] in (0, 127, 255) or _VERSION_BEFORE.search(before):
            return found.group()
        if before.endswith("/") and not before.endswith("//"):
            return found.group()  # a folder: https://repo.radeon.com/amdgpu/6.4.2.1/
        number = int(self._replacement("ipv4", text, "{}"))
        # TEST-NET-1 (RFC 5737), then the benchmark network (RFC 2544) when that is full.
        return f"192.0.2.{number}" if number < 255 else f"198.18.{number >> 8 & 255}.{number & 255}"

    def _ipv6(self, found: re.Match[str]) -> str:
        text = found.group()
        tail = ":" if text.endswith(":") and not text.endswith("::") else ""
        address = text[: len(text) - len(tail)]
        groups = [g for g in address.split(":") if g]
        try:
            socket.inet_pton(socket.AF_INET6, address)
        except (OSError, ValueError):
            return text
        if len(groups) < 3 and not address.lower().startswith(("fe80", "fc", "fd", "2", "3")):
            return text
        return self._replacement("ipv6", address.lower(), "2001:db8::{:x}") + tail

    def _name(self, found: re.Match[str]) -> str:
        if found["lead"] is None:
            return self._words[found["word"]]
        return found["lead"] + (self._users.get(found["home"]) or self._replacement("user", found["home"], "user{}"))

    def _serial(self, found: re.Match[str]) -> str:
        value = found["value"]
        if _NOT_SERIAL.fullmatch(value) or _UUID.fullmatch(value) or value.startswith("00000000-0000-4000-8000-"):
            return found.group()
        return found["key"] + self.identifier(value)

    def _number(self, number: int) -> int:
        """The same for a number whatever its base: sysfs has a unique_id in hexadecimal, the KFD topology in decimal."""
        return (1 << 60) + int(self._replacement("number", str(number), "{}")) if number else 0

    def identifier(self, value: str) -> str:
        """A replacement for a serial number or unique_id, of the same kind: decimal, 0x..., hexadecimal or text."""
        if re.fullmatch(r"[0-9]{1,20}", value):
            return str(self._number(int(value)))
        if re.fullmatch(r"(?i)0x[0-9a-f]{1,16}", value):
            return f"{value[:2]}{self._number(int(value, 16)):x}"
        if re.fullmatch(r"(?i)[0-9a-f]{8,16}", value):
            return f"{self._number(int(value, 16)):016x}"
        return self._replacement("serial", value, "serial-{}")

    def names(self, text: str) -> str:
        """Users and machine names, and home folders, replaced; for paths, links and patterns."""
        return self._names.sub(self._name, text)

    def path(self, path: str) -> str:
        """A path, a pattern or a link's target."""
        return self.names(_UUID.sub(self._uuid, path))

    def text(self, text: str, addresses: bool = True) -> str:
        """Any text. `addresses`: also IPv4 and IPv6 addresses, which in a text about versions may be versions."""
        text = _URL_USER.sub(r"\g<scheme>redacted@", text)
        text = _URL_SECRET.sub(r"\1redacted", text)
        text = _ASSIGNED_SECRET.sub(r"\1redacted", text)
        text = _UUID_KEY.sub(self._uuid_key, text)
        text = _UUID.sub(self._uuid, text)
        text = _GPU_UUID.sub(lambda m: f"GPU-{self._number(int(m.group(1), 16)):016x}", text)
        text = _MACHINE_ID.sub(lambda m: m.group(1) + self._replacement("machine", m.group(2), "{:032x}"), text)
        text = _MAC.sub(self._mac, text)
        text = _SERIAL_KEY.sub(self._serial, text)
        text = _LOCAL_HOST.sub(lambda m: self._replacement("site", m.group(1).lower(), "host{}.example"), text)
        if addresses:
            text = _IPV6.sub(self._ipv6, text)
            text = _IPV4.sub(self._ipv4, text)
        return self.names(text)

    # parts of a snapshot -------------------------------------------------------------------------------------

    def content(self, path: str, data: bytes) -> bytes:
        """The content of the file at host path `path`. Binary content is returned as it is."""
        if not data or b"\0" in data or _PACKAGE_DATA.search(path):
            return data
        name = path.rpartition("/")[2]
        text = data.decode("utf-8", "surrogateescape")
        if path.startswith("/sys/") and name in ("unique_id", "serial_number", "serial", "product_serial", "product_uuid"):
            value = text.strip()
            if re.fullmatch(r"[0-9a-fA-F]{16}", value):  # amdgpu prints it so, without 0x
                text = f"{self._number(int(value, 16)):016x}\n"
            elif value:
                text = self.identifier(value) + "\n"
        elif path in ("/etc/passwd", "/etc/group"):
            text = self._accounts(text)
        elif path in ("/etc/hostname", "/proc/sys/kernel/hostname"):
            text = self._host(text.strip()) + "\n"
        else:
            text = self.text(text, addresses=not _VERSIONED.search(path))
        return text.encode("utf-8", "surrogateescape")

    def _accounts(self, text: str) -> str:
        lines = []
        for line in text.split("\n"):
            fields = line.split(":")
            fields[0] = self._users.get(fields[0], fields[0])
            if len(fields) == 4:  # group(5)
                fields[3] = ",".join(self._users.get(n, n) for n in fields[3].split(","))
            elif len(fields) == 7:  # passwd(5): the fifth field is a person's name
                fields[4] = ""
                fields[5] = self.names(fields[5])
            lines.append(":".join(fields))
        return "\n".join(lines)

    def environment(self, env: Mapping[str, str]) -> dict[str, str]:
        """Environment variables; empty ones stay empty, set ones stay set."""
        return {name: self._variable(name, value) for name, value in env.items()}

    def _variable(self, name: str, value: str) -> str:
        if name in ("USER", "LOGNAME", "SUDO_USER", "SLURM_JOB_USER"):
            return self.user_name(value)
        if name.lower() == "no_proxy":
            return ",".join(self._no_proxy(item.strip()) for item in value.split(","))
        if name.lower().endswith("_proxy"):
            return re.sub(r"^([A-Za-z][\w+.-]*://)?(?:[^@]*@)?([^:/\s\[]+)?", self._proxy, value, count=1)
        if _INDEX_VARIABLE.search(name):
            named = _URL_HOST.sub(lambda m: m[0] if m[2].isascii() and m[2][-1].isdigit() else m[1] + self._site(m[2]), value)
            return self.text(named)
        if name.endswith("_HOST") and name.startswith(("PIP_", "UV_")):
            return " ".join(self._site(word) for word in value.split())
        if value and _HOST_VARIABLE.search(name) and not re.fullmatch(r"[\d.]+", value):
            return self._replacement("host", value, "host{}")
        return self.text(value)

    def _proxy(self, found: re.Match[str]) -> str:
        return (found.group(1) or "") + self._site(found.group(2) or "")

    def _site(self, host: str) -> str:
        """A host name in a variable that names one: of a company more often than not."""
        if not re.search(r"[A-Za-z]", host):
            return self.text(host)
        return host if host == "localhost" else self._replacement("site", host.lower(), "host{}.example")

    def _no_proxy(self, item: str) -> str:
        if not item or item == "*" or item == "localhost" or not re.search(r"[A-Za-z]", item):
            return self.text(item)
        return ("." if item.startswith(".") else "") + self._replacement("site", item.lstrip(".").lower(), "host{}.example")

    def command(self, command: Command) -> Command:
        """A command's words and output."""
        argv = tuple(self.names(word) for word in command.argv)
        program = None if command.program is None else self.names(command.program)
        name = command.argv[0].rpartition("/")[2]

        def output(text: str) -> str:
            if name in _PACKAGE_COMMANDS:
                return text
            if name == "rocminfo":
                text = _GROUP_COMPLAINT.sub(lambda m: self.user_name(m.group(1)), text)
            if name == "journalctl":
                text = _JOURNAL.sub(lambda m: m.group(1) + self._host(m.group(2)), text)
            return self.text(text, addresses=name in _ADDRESS_COMMANDS)

        return Command(argv, program, command.rc, output(command.stdout), output(command.stderr), command.timed_out)

    def user_name(self, name: str) -> str:
        """An account's name."""
        if not name or name == "root":
            return name
        return self._users.get(name) or self._replacement("user", name, "user{}")

    def group_name(self, name: str) -> str:
        """A group's name: a person's own group has the person's name."""
        return self._users.get(name, name)


def redact_text(text: str) -> str:
    """`text` without credentials, addresses, UUIDs, serial numbers and names of home folders, when nothing is known of the host
    that it came from."""
    return Redactor().text(text)
