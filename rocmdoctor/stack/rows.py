"""The rows of the stack, judged by versions and the matrix."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from rocmdoctor import versions
from rocmdoctor.facts import Facts, known
from rocmdoctor.host import UnknownFact
from rocmdoctor.stack import DIFFERS, FITS, GROUPS, MISSING, UNKNOWN, Layer

if TYPE_CHECKING:
    from rocmdoctor.facts.components import Component
    from rocmdoctor.facts.rocm import RocmInstall
    from rocmdoctor.matrix import Answer, Matrix

FRAMEWORKS = (
    ("torch", ("torch",)),
    ("torchvision", ("torchvision",)),
    ("torchaudio", ("torchaudio",)),
    ("triton", ("triton", "triton-rocm", "pytorch-triton-rocm")),
    ("jax", ("jax",)),
    ("jax plug-in", ("jax-rocm10-plugin", "jax-rocm7-plugin", "jax-rocm60-plugin")),
    ("tensorflow", ("tensorflow-rocm", "rocm-tensorflow", "tensorflow")),
    ("onnxruntime", ("onnxruntime-migraphx", "onnxruntime-rocm", "onnxruntime-gpu", "onnxruntime")),
    ("vllm", ("vllm",)),
    ("bitsandbytes", ("bitsandbytes",)),
    ("flash-attn", ("flash-attn",)),
)
"""Layer, and the distributions that are it, the ones for ROCm first."""

BUILDS = {"rocm": "ROCm", "cuda": "CUDA", "cpu": "CPU", "xpu": "Intel XPU"}

ORIGINS = {
    "amd-package": "AMD's packages",
    "amdrocm-package": "AMD's amdrocm packages",
    "distro-package": "the distribution's packages",
    "wheel": "Python wheels",
    "tarball": "unpacked by hand",
}


def reference(facts: Facts) -> str | None:
    """The ROCm release in use: the active install's, else the wheel's."""
    system = known(lambda: facts.rocm_version, None)
    if system:
        return system
    env = known(lambda: facts.torch_env, None)
    if env and env.torch and env.torch.rocm_release:
        return env.torch.rocm_release
    return next((f.rocm_sdk for f in known(lambda: facts.frameworks, ()) if f.rocm_sdk), None)


class Rows:
    """Reads the layers of one host."""

    def __init__(self, facts: Facts, matrix: Matrix) -> None:
        self.facts = facts
        self.matrix = matrix
        self.rocm = reference(facts)

    def all(self) -> tuple[Layer, ...]:
        """Every layer from the bottom up; a part that cannot be told is one row that says why."""
        rows: list[Layer] = []
        for read, group, name in (
            (self.gpus, "hardware", "GPU"),
            (self.firmware, "hardware", "Firmware"),
            (self.kernel, "driver", "Kernel"),
            (self.driver, "driver", "Driver"),
            (self.kfd, "driver", "KFD"),
            (self.installs, "runtime", "ROCm"),
            (self.parts, "libraries", "ROCm's parts"),
            (self.frameworks, "frameworks", "Python"),
        ):
            try:
                rows += read()
            except UnknownFact as unknown:
                rows.append(Layer(group, name, why=str(unknown)))
        rows.sort(key=lambda row: GROUPS.index(row.group))
        return tuple(rows)

    # hardware and driver -----------------------------------------------------------------------------------------

    def gpus(self) -> Iterator[Layer]:
        seen: dict[tuple[str | None, str | None], int] = {}
        for gpu in self.facts.gpus:
            seen[gpu.product, gpu.gfx] = seen.get((gpu.product, gpu.gfx), 0) + 1
        if not seen:
            yield Layer("hardware", "GPU", fit=MISSING, why="no AMD GPU was found")
        for gpu in self.facts.gpus:
            count = seen.pop((gpu.product, gpu.gfx), 0)
            if count:
                label = f"{count} x {gpu.label}" if count > 1 else gpu.label
                row = Layer("hardware", "GPU", gpu.gfx or "gfx unknown", label)
                yield self.by_matrix(row, self.gpu_answer(gpu.gfx, gpu.product, gpu.family), built=gpu.gfx)

    def gpu_answer(self, gfx: str | None, product: str | None, family: str | None) -> Answer | None:
        return self.matrix.gpu(self.rocm, gfx, product=product, family=family) if self.rocm and gfx else None

    def by_matrix(self, row: Layer, answer: Answer | None, built: str | None = None) -> Layer:
        """What AMD's lists say. That they lack something is no misfit where the libraries were built for it."""
        if answer is None:
            return replace(row, why="there is no ROCm to compare with" if not self.rocm else "its target is unknown")
        if answer.ok:
            return replace(row, fit=FITS, why=answer.reason)
        if answer.verdict.value == "unsupported" and built and built not in self.built_gfx():
            return replace(row, fit=DIFFERS, why=answer.reason)
        return replace(
            row, why=answer.reason + ("; the libraries have code for it" if built and built in self.built_gfx() else "")
        )

    def built_gfx(self) -> frozenset[str]:
        active = known(lambda: self.facts.rocm.active, None)
        env = known(lambda: self.facts.torch_env, None)
        wheel = env.torch.library_gfx if env and env.torch else frozenset()
        return (active.gfx or frozenset() if active else frozenset()) | wheel

    def firmware(self) -> Iterator[Layer]:
        if self.facts.place.kind in ("wsl", "container"):
            return
        firmware = self.facts.firmware
        source = f"{firmware.package} {firmware.package_version}" if firmware.package else None
        if firmware.dkms_version:
            source = f"amdgpu-dkms-firmware {firmware.dkms_version}"
        version = str(firmware.date) if firmware.date and not firmware.dkms_version else None
        if not firmware.folders:
            yield Layer("hardware", "Firmware", version, source, MISSING, "there is no amdgpu folder with firmware")
            return
        yield Layer("hardware", "Firmware", version, source or ", ".join(firmware.folders))

    def kernel(self) -> Iterator[Layer]:
        kernel, os = self.facts.kernel, self.facts.os
        row = Layer("driver", "Kernel", kernel.release, os.name)
        yield replace(row, fit=FITS if self.kernel_answer_ok() else UNKNOWN, why=self.kernel_words())

    def kernel_answer(self) -> Answer | None:
        os = self.facts.os
        base = self.matrix.base_os(os.id, os.version_id, os.id_like, os.ubuntu_codename, os.codename)
        if base is None or not self.rocm or self.facts.place.kind == "wsl":
            return None
        return self.matrix.kernel(self.rocm, base.id, base.version, self.facts.kernel.release, family=self.family())

    def kernel_answer_ok(self) -> bool:
        answer = known(self.kernel_answer, None)
        return answer is not None and answer.ok

    def kernel_words(self) -> str:
        answer = known(self.kernel_answer, None)
        if answer:
            return answer.reason
        return "WSL's own kernel" if self.facts.place.kind == "wsl" else "AMD has no list to compare it with"

    def family(self) -> str | None:
        return next((g.family for g in known(lambda: self.facts.gpus, ()) if g.family), None)

    def driver(self) -> Iterator[Layer]:
        if self.facts.place.kind == "wsl":
            yield Layer("driver", "Driver", None, "/dev/dxg: the driver is that of Windows")
            return
        amdgpu = self.facts.amdgpu
        if not amdgpu.loaded:
            yield Layer(
                "driver",
                "Driver",
                None,
                "amdgpu",
                DIFFERS if known(lambda: self.facts.gpus, ()) else MISSING,
                "amdgpu is not loaded",
            )
            return
        release = known(lambda: self.facts.driver_release, None)
        if amdgpu.kind != "dkms" or not release:
            source = "built into the kernel" if amdgpu.kind == "builtin" else "the kernel's own (inbox) driver"
            row = Layer("driver", "Driver", amdgpu.version, source if amdgpu.kind != "dkms" else "DKMS")
            listed = self.kernel_answer_ok()
            words = "it comes with a kernel that AMD lists" if listed else "the kernel's own driver has no release to compare"
            yield replace(row, fit=FITS if listed else UNKNOWN, why=words)
            return
        package = known(lambda: self.facts.packages.get("amdgpu-dkms"), None)
        source = f"{package.name} {package.full_version}" if package else "DKMS"
        row = Layer("driver", "Driver", f"{release} ({amdgpu.version})" if amdgpu.version else release, source)
        yield self.by_matrix(row, self.matrix.driver(self.rocm, release, family=self.family()) if self.rocm else None, built="")

    def kfd(self) -> Iterator[Layer]:
        if self.facts.place.kind == "wsl":
            return
        nodes, gpus = len(self.facts.kfd.gpus), len(self.facts.gpus)
        row = Layer("driver", "KFD", f"{nodes} GPU node{'' if nodes == 1 else 's'}", "/dev/kfd")
        yield row if nodes or not gpus else replace(row, fit=DIFFERS, why=f"it serves none of {gpus} GPU(s)")

    # ROCm --------------------------------------------------------------------------------------------------------

    def installs(self) -> Iterator[Layer]:
        installs = sorted((i for i in self.facts.rocm.installs if not i.hollow), key=lambda i: not i.active)
        for install in installs:
            source = f"{install.root}, {ORIGINS.get(install.origin, 'origin unknown')}"
            row = Layer("runtime", "ROCm", install.version, source)
            if install.active or len(installs) == 1:
                yield self.by_matrix(row, known(self.os_answer, None), built="")
            else:
                yield replace(row, fit=UNKNOWN, why="beside the active one")
        if not installs and self.rocm:
            parts = known(lambda: self.facts.components, ())
            yield Layer(
                "runtime", "ROCm", self.rocm, parts[0].package if parts else "a Python wheel", FITS, "the wheel brings its own"
            )
        elif not installs:
            yield Layer("runtime", "ROCm", fit=MISSING)

    def os_answer(self) -> Answer | None:
        os = self.facts.os
        base = self.matrix.base_os(os.id, os.version_id, os.id_like, os.ubuntu_codename, os.codename)
        return self.matrix.os(self.rocm, base.id, base.version, family=self.family()) if base and self.rocm else None

    def parts(self) -> Iterator[Layer]:
        """The active install's parts; on a host without one, the wheel's. A wheel's libraries beside an install are one row."""
        from rocmdoctor.facts.component_parts import PARTS

        active = self.facts.rocm.active
        every = self.facts.components
        own = [c for c in every if active and c.root == active.root and not c.wheel]
        wheel = [c for c in every if c.wheel]
        shown = {c.name: c for c in (own or wheel)}
        for part in PARTS:
            component = shown.get(part.name)
            if component is None:
                yield Layer(part.group, part.name, fit=MISSING)
            else:
                yield self.part(component, active if own else None)
        if own and wheel:
            release = wheel[0].release
            names = ", ".join(c.name for c in wheel)
            words = "the wheel brings its own user space" if release else "its ROCm release is unknown"
            yield Layer(
                "frameworks", "ROCm of torch", release, wheel[0].package, FITS if release else UNKNOWN, f"{words}: {names}"
            )

    def part(self, component: Component, active: RocmInstall | None) -> Layer:
        """One part against the release of the rest, and rocBLAS against the GPUs."""
        version = component.version or (f".so.{component.soname}" if component.soname else None)
        row = Layer(component.group, component.name, version, component.package or component.path)
        gone = [
            g.gfx
            for g in known(lambda: self.facts.gpus, ())
            if g.gfx and g.klass != "apu" and active and active.gfx and g.gfx not in active.gfx
        ]
        if component.release and self.rocm and not _same(component.release, self.rocm):
            row = replace(row, fit=DIFFERS, why=f"it is of ROCm {component.release}, the rest is {self.rocm}")
        elif active and component.path is None:
            row = replace(row, why=f"the package is there, its file was not seen in {active.root}")
        elif component.name == "rocBLAS" and gone:
            row = replace(row, fit=DIFFERS, why=f"it has no code for {', '.join(dict.fromkeys(gone))}")
        elif component.release and self.rocm:
            row = replace(row, fit=FITS, why=f"of ROCm {component.release}")
        elif active and active.origin == "distro-package":
            row = replace(row, fit=FITS, why="of the same distribution")
        else:
            row = replace(row, why="nothing tells its ROCm release")
        return self.on_path(row, component, active)

    def on_path(self, row: Layer, component: Component, active: RocmInstall | None) -> Layer:
        """A tool that PATH finds elsewhere than in the active ROCm."""
        from rocmdoctor.facts.components import on_path

        if component.group != "tools" or active is None or active.root == "/usr" or not component.path:
            return row
        found = on_path(self.facts.host, component.name)
        if not found or found.startswith(f"{active.root}/"):
            return row
        return replace(row, fit=DIFFERS, why=f"PATH finds {found} first")

    # frameworks --------------------------------------------------------------------------------------------------

    def frameworks(self) -> Iterator[Layer]:
        envs = self.facts.pythons
        for name, distributions in FRAMEWORKS:
            hits = ((env, d) for distribution in distributions for env in envs if (d := env.get(distribution)))
            hit = next(hits, None)
            if name == "torch" and (env := self.facts.torch_env) and env.torch:
                yield Layer(
                    "frameworks",
                    name,
                    env.torch.version or None,
                    f"{BUILDS.get(env.torch.build, env.torch.build)} build in {env.prefix}",
                )
            elif hit is None:
                yield Layer("frameworks", name, fit=MISSING)
            else:
                env, dist = hit
                yield Layer("frameworks", name, dist.version or None, f"{dist.name} in {env.prefix}")


def _same(one: str, other: str) -> bool:
    """A wheel names its release without the patch level: 6.2 and 6.2.4 are the same there."""
    a, b = versions.components(one), versions.components(other)
    shortest = min(len(a), len(b))
    return a[:shortest] == b[:shortest] if shortest == 2 else versions.key(one) == versions.key(other)
