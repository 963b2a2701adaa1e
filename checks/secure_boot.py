"""Secure Boot and the signature of the DKMS module (rules.md 12)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from rocmdoctor.checks.binding import ON_A_KERNEL
from rocmdoctor.checks.remedies import log_evidence
from rocmdoctor.engine import check
from rocmdoctor.facts import Facts, known
from rocmdoctor.results import Evidence, Finding, Fix, Status

if TYPE_CHECKING:
    from rocmdoctor.matrix import Matrix


@check(
    "secure_boot.module-accepted", title="Secure Boot accepts the amdgpu module", after=["gpu_present.device"], places=ON_A_KERNEL
)
def module_accepted(facts: Facts, matrix: Matrix) -> Iterator[Finding]:
    """With Secure Boot on, a DKMS module whose key is not enrolled is refused ("Key was rejected by service").

    "module verification failed ... tainting kernel" alone is a notice, not a refusal (rules.md 12). The remedy is to enrol the
    machine-owner key; rocmdoctor never advises to switch Secure Boot off.
    """
    if facts.amdgpu.loaded or not facts.secure_boot.enabled:
        return
    refused = log_evidence(
        facts,
        r"amdkcl|amdgpu|amdttm|Loading of (unsigned )?module|is not signed|Key was rejected|key was rejected|PKCS#7|Required key",
        40,
    )
    refused = tuple(
        e
        for e in dict.fromkeys(refused)
        if any(
            w in e.value.lower()
            for w in ("rejected", "key not available", "is rejected", "unsigned", "is not signed", "lockdown")
        )
    )[:3]
    dkms_file = any(f.kind == "dkms" for f in facts.amdgpu.files)
    modinfo = known(lambda: facts.modinfo, None)
    unsigned = modinfo is not None and not modinfo.signer and dkms_file
    if not refused and not (dkms_file and (facts.secure_boot.mok_enrolled is False or unsigned)):
        return
    evidence = (Evidence(facts.secure_boot.source, "Secure Boot is enabled"), *refused)
    if modinfo and modinfo.filename:
        evidence += (Evidence("modinfo amdgpu", f"{modinfo.filename}, signer: {modinfo.signer or 'none'}"),)
    if facts.secure_boot.mok_enrolled is False:
        evidence += (Evidence("mokutil --test-key", "the key that signs DKMS modules is not enrolled"),)
    yield Finding(
        Status.FAIL,
        "Secure Boot refuses the amdgpu module: the key that signed it is not enrolled",
        "DKMS signs modules with a machine-owner key (MOK). Until that key is enrolled in the firmware the kernel rejects them.",
        evidence,
        (
            Fix(
                "Import the machine-owner key (it asks for a one-time password), and choose 'Enroll MOK' in the blue screen of "
                "the next boot",
                (("mokutil", "--import", _mok(facts)),),
                needs=("root", "reboot"),
                verify=("mokutil", "--test-key", _mok(facts)),
            ),
        ),
        (
            "https://wiki.ubuntu.com/UEFI/SecureBoot/DKMS"
            if "ubuntu" in facts.os.ids
            else "https://rocm.docs.amd.com/projects/install-on-linux/en/latest/how-to/native-install/package-manager-integration.html",
        ),
    )


def _mok(facts: Facts) -> str:
    """Where DKMS keeps the public key: shim-signed's on Ubuntu, DKMS's own elsewhere (dkms(8), mok_certificate)."""
    return "/var/lib/shim-signed/mok/MOK.der" if "ubuntu" in facts.os.ids else "/var/lib/dkms/mok.pub"
