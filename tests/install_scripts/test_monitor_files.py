"""Files for the node problem detector, Nagios, Icinga and cloud-init, read by what reads them where it can be had."""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

Reader = Callable[..., tuple[Path, dict[str, str]]]
VERDICT = "/usr/local/libexec/rocmdoctor/rocm-verdict"


# node problem detector: no package of it is at hand. The fields are those of its pkg/custompluginmonitor/types.


NPD_FIELDS: dict[str, dict[str, type]] = {
    "": {"plugin": str, "pluginConfig": dict, "source": str, "metricsReporting": bool, "conditions": list, "rules": list},
    "pluginConfig": {
        "invoke_interval": str,
        "timeout": str,
        "max_output_length": int,
        "concurrency": int,
        "enable_message_change_based_condition_update": bool,
        "skip_initial_status": bool,
    },
    "conditions": {"type": str, "reason": str, "message": str},
    "rules": {"type": str, "condition": str, "reason": str, "path": str, "args": list, "timeout": str},
}


def seconds(duration: str) -> int:
    number, unit = re.fullmatch(r"(\d+)([smh])", duration).groups()  # type: ignore[union-attr]
    return int(number) * {"s": 1, "m": 60, "h": 3600}[unit]


def monitor(scripts: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((scripts / "npd/rocm-monitor.json").read_text())
    return found


def test_npd_fields(scripts: Path) -> None:
    read = monitor(scripts)
    places: dict[str, list[dict[str, Any]]] = {"": [read], "pluginConfig": [read["pluginConfig"]]}
    places |= {"conditions": read["conditions"], "rules": read["rules"]}
    for place, values in places.items():
        for value in values:
            assert set(value) <= set(NPD_FIELDS[place])
            assert all(type(v) is NPD_FIELDS[place][k] for k, v in value.items())
    assert read["plugin"] == "custom"


def test_npd_accepts_it(scripts: Path) -> None:
    """What its Validate asks: a rule's time limit within the global one, a condition for each permanent problem."""
    read = monitor(scripts)
    (rule,) = read["rules"]
    assert seconds(rule["timeout"]) <= seconds(read["pluginConfig"]["timeout"]) < seconds(read["pluginConfig"]["invoke_interval"])
    assert seconds(rule["timeout"]) > 24, "rocm-verdict may take that long"
    assert rule["type"] == "permanent" and rule["condition"] in [c["type"] for c in read["conditions"]]
    assert (rule["path"], rule["args"][0]) == (VERDICT, "npd")


@pytest.mark.parametrize(("kind", "code"), [("healthy", 0), ("failed", 1), ("slow", 2), ("missing", 2)])
def test_npd_rule_runs(
    scripts: Path,
    stand_in: Callable[[str], dict[str, str]],
    run: Callable[..., subprocess.CompletedProcess[str]],
    kind: str,
    code: int,
) -> None:
    read = monitor(scripts)
    done = run(scripts / "rocm-verdict", *read["rules"][0]["args"], env=stand_in(kind))
    assert done.returncode == code and len(done.stdout.strip()) <= read["pluginConfig"]["max_output_length"]


# Nagios and Icinga -----------------------------------------------------------------------------------------------

OBJECTS = """define timeperiod {
    timeperiod_name 24x7
    alias           always
    monday          00:00-24:00
}
define command {
    command_name    notify
    command_line    /bin/true
}
define contact {
    contact_name                    ann
    host_notification_commands      notify
    service_notification_commands   notify
    host_notification_period        24x7
    service_notification_period     24x7
}
define host {
    host_name           node
    address             127.0.0.1
    max_check_attempts  3
    check_period        24x7
    contacts            ann
}
define service {
    use         rocm-service
    host_name   node
    contacts    ann
}
define service {
    use                 rocm-service
    host_name           node
    service_description ROCm of this node
    check_command       check_rocm!--profile node
    contacts            ann
}
"""


@pytest.mark.slow
def test_nagios(scripts: Path, reader: Reader, tmp_path: Path) -> None:
    nagios, env = reader("nagios4", "nagios4-core")
    (tmp_path / "objects.cfg").write_text(OBJECTS)
    (tmp_path / "resource.cfg").write_text("$USER1$=/usr/lib/nagios/plugins\n")
    names = ("log_file", "lock_file", "temp_file", "command_file", "object_cache_file", "status_file")
    (tmp_path / "nagios.cfg").write_text(
        f"cfg_file={scripts}/nagios/rocm.cfg\ncfg_file={tmp_path}/objects.cfg\nresource_file={tmp_path}/resource.cfg\n"
        f"check_result_path={tmp_path}\nnagios_user=root\nnagios_group=root\n" + "".join(f"{n}={tmp_path}/{n}\n" for n in names)
    )
    done = subprocess.run([nagios, "-v", tmp_path / "nagios.cfg"], env=env, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0 and "Total Errors:   0" in done.stdout, done.stdout[-1500:]


@pytest.mark.slow
def test_icinga(scripts: Path, reader: Reader, tmp_path: Path) -> None:
    boost = ["atomic", "chrono", "context", "coroutine", "date-time", "filesystem", "iostreams", "program-options"]
    boost += ["regex", "system", "thread"]
    icinga, env = reader("icinga2", "icinga2-bin", *(f"libboost-{part}1.74.0" for part in boost))
    probe = subprocess.run([icinga, "--version"], env=env, capture_output=True, text=True, timeout=60)
    if probe.returncode:
        pytest.skip(f"icinga2 does not run here: {probe.stderr.strip()[:150]}")
    (tmp_path / "icinga2.conf").write_text(
        'object Endpoint "node" {}\nobject Zone "node" { endpoints = [ "node" ] }\n'
        'object Host "node" {\n  check_command = "rocm"\n  zone = "node"\n'
        "  vars.amd_gpu = true\n  vars.agent_endpoint = name\n}\n" + (scripts / "nagios/icinga2_rocm.conf").read_text()
    )
    folders = ("DataDir", "LogDir", "CacheDir", "InitRunDir", "ConfigDir", "SpoolDir")
    set_up = [word for name in folders for word in ("-D", f"{name}={tmp_path}")]
    set_up += ["-D", "RunAsUser=root", "-D", "RunAsGroup=root", "-D", "NodeName=node"]
    words = [str(icinga), "daemon", "-C", "-c", str(tmp_path / "icinga2.conf"), *set_up]
    done = subprocess.run(words, env=env, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0 and "1 Service" in done.stdout, done.stdout[-1500:]


def test_commands_name_the_script(scripts: Path) -> None:
    for name in ("rocm.cfg", "nrpe_rocm.cfg", "icinga2_rocm.conf"):
        assert VERDICT in (scripts / "nagios" / name).read_text()


# cloud-init ------------------------------------------------------------------------------------------------------


def test_cloud_init_is_yaml_and_calls_what_there_is(scripts: Path) -> None:
    text = (scripts / "cloud-init/rocmdoctor.yaml").read_text()
    assert text.startswith("#cloud-config\n")
    read = yaml.safe_load(text)
    install, check = read["runcmd"]
    assert install[0] == "sh" and os.path.basename(install[1]) == "bootstrap.sh" and install[-1] == "--yes"
    options = (scripts / "bootstrap.sh").read_text()
    assert all(word in options for word in install[2:] if word.startswith("--"))
    assert subprocess.run(["sh", "-n", "-c", check[2]], timeout=10).returncode == 0
    assert "http" not in text and "|" not in text.replace("content: |", "").replace("|| :", "")


@pytest.mark.slow
def test_cloud_init_schema(scripts: Path, debian: Callable[..., Path]) -> None:
    """The schema that cloud-init itself reads user data with."""
    package = debian("cloud-init")
    schemas = sorted(package.glob("usr/lib/python3/dist-packages/cloudinit/config/schemas/schema-cloud-config-v*.json"))
    schema = json.loads(schemas[-1].read_text())
    read = yaml.safe_load((scripts / "cloud-init/rocmdoctor.yaml").read_text())
    jsonschema.Draft4Validator(schema).validate(read)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.Draft4Validator(schema).validate({**read, "runcmd": {"not": "a list"}})
