"""The report as metrics for Prometheus: text exposition format 0.0.4, as node_exporter's textfile collector reads it.

Write it to a temporary file in the collector's folder and rename that to `rocmdoctor.prom`, so that none is read half written.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from rocmdoctor.reports.by_check import by_check
from rocmdoctor.reports.printable import printable
from rocmdoctor.results import Report, Status

VERDICTS = ("healthy", "degraded", "broken", "no-amd-gpu")
LONGEST = 200
"""Characters of a label's value: longer ones are no names, and burden every series of the server."""

Sample = tuple[dict[str, object], float]


def render(report: Report, timestamp: float) -> str:
    """The metrics in ASCII with a final line end. `timestamp`: when the host was judged, in seconds since the epoch.

    All are gauges. A check has one series, with the worst of its findings as status; a verdict has one for each word, 1 or 0, so
    that no series disappears when the verdict changes.
    """
    checks = [(id, results[0]) for id, results in by_check(report).items()]
    statuses = [worst.status for _, worst in checks]
    families: tuple[tuple[str, str, Iterable[Sample]], ...] = (
        (
            "check_status",
            "Status of each check: pass, warn, fail, skip or error.",
            (({"id": id, "area": worst.area, "status": worst.status.value}, 1) for id, worst in checks),
        ),
        (
            "checks_total",
            "Number of checks by status.",
            (({"status": status.value}, statuses.count(status)) for status in Status),
        ),
        (
            "verdict",
            "Verdict on the whole host: 1 for the one that holds.",
            (({"verdict": verdict}, verdict == report.verdict) for verdict in VERDICTS),
        ),
        ("root_cause", "Checks that failed.", (({"id": id}, 1) for id in report.root_causes)),
        ("gpu_info", "AMD GPUs of the host.", _gpus(report)),
        (
            "info",
            "Version of rocmdoctor and date of its compatibility matrix.",
            (({"version": report.tool_version, "matrix_date": report.matrix_date}, 1),),
        ),
        ("last_run_timestamp_seconds", "When the host was judged, in seconds since the epoch.", (({}, timestamp),)),
    )
    return "".join(f"{line}\n" for name, help, samples in families for line in _family(f"rocmdoctor_{name}", help, samples))


def _gpus(report: Report) -> Iterator[Sample]:
    for number, gpu in enumerate(report.host.get("gpus") or []):
        named = {key: gpu.get(key) for key in ("pci_address", "pci_id", "gfx", "product", "class", "driver")}
        yield {"gpu": number, **named}, 1


def _family(name: str, help: str, samples: Iterable[Sample]) -> Iterator[str]:
    yield f"# HELP {name} {help}"
    yield f"# TYPE {name} gauge"
    for labels, value in samples:
        pairs = ",".join(f'{key}="{_label(text)}"' for key, text in labels.items())
        yield f"{name}{{{pairs}}} {_number(value)}" if pairs else f"{name} {_number(value)}"


def _label(value: object) -> str:
    """A label's value: unknown is empty; backslash and quote are escaped, and nothing printable is a line end."""
    text = "" if value is None else printable(str(value), LONGEST)
    ascii_only = text.encode("ascii", "backslashreplace").decode("ascii")
    return ascii_only.replace("\\", "\\\\").replace('"', '\\"')


def _number(value: float) -> str:
    return str(int(value)) if value == int(value) else repr(float(value))
