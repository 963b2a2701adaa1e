"""Steps for repositories: keys, source files, the pin; what is there already is recognised and not doubled."""

from __future__ import annotations

import re
from collections.abc import Iterable

from rocmdoctor import versions
from rocmdoctor.facts import known
from rocmdoctor.facts.repos import Repository
from rocmdoctor.matrix.extra_repositories import BuildServiceProject
from rocmdoctor.matrix.recipes import Recipe, RepoFile
from rocmdoctor.matrix.signing_keys import SigningKey
from rocmdoctor.plan import mirror
from rocmdoctor.plan.draft import Draft
from rocmdoctor.plan.files import RemoveFile, WriteFile
from rocmdoctor.plan.keys import FetchKey, ImportKey, TrustKey
from rocmdoctor.plan.programs import RunCommand

_SECTION = re.compile(r"^\[([^\]]+)\]", re.M)
_OTHER_KINDS = re.compile(r"debug|source|src|beta|testing|eus|e4s|aus", re.I)
"""Parts of repository ids that are not the plain binary packages of the release."""
PIN_PRIORITY = 600
RPM_KEYS = "/etc/pki/rpm-gpg/RPM-GPG-KEY-"


def plan(draft: Draft, recipe: Recipe, *, driver: bool) -> tuple[str, ...]:
    """Add the steps. The answer are the ids (dnf, zypper) or addresses (apt) of AMD's repositories."""
    files = [recipe.rocm_repo]
    # up to 6.4 packages of ROCm need parts of the driver's repository (rocdecode wants its mesa, legacy-rocm-build #5963)
    paired = recipe.line == "classic" and recipe.graphics_dir is None
    if recipe.driver_repo is not None and (driver or paired):
        files.append(recipe.driver_repo)
    files = [mirror.file_at(draft, file) for file in files]
    current = known(lambda: draft.facts.repos.amd, ())
    if draft.options.side_by_side and recipe.line == "classic":
        files = [_beside(file, recipe.rocm if file.path == recipe.rocm_repo.path else recipe.driver or "") for file in files]
        if driver:
            _newer_driver(draft, recipe, current)
    more = _extra(draft, recipe)
    keys = [recipe.key]
    if recipe.driver_repo is not None and len(files) > 1 and recipe.driver_key != recipe.key:
        keys.append(recipe.driver_key)
    for key in keys:
        _key(draft, recipe, key)
    _certificate(draft, recipe, files)
    for file in files:
        if not _adopted(draft, file, current):
            name = file.path.rpartition("/")[2]
            draft.steps.append(
                WriteFile(
                    f"repo-{name}",
                    f"Write {file.path}",
                    f"AMD's repository of ROCm {recipe.rocm}",
                    path=file.path,
                    text=file.text,
                )
            )
    _others(draft, files, current)
    _pin(draft, recipe)
    ids = tuple(name for file in files for name in _SECTION.findall(file.text))
    return (*ids, *more) or tuple(url for file in files for url in file.urls)


def _key(draft: Draft, recipe: Recipe, key: SigningKey) -> None:
    trusted = draft.matrix.signing_fingerprints
    url, reason = mirror.at(draft, key.url), f"packages are signed with {key.fingerprint}"
    needs, ca = ("root", "network"), draft.options.ca or ""
    if recipe.package_manager == "apt":
        title = f"Fetch AMD's signing key to {key.keyring}"
        draft.steps.append(FetchKey(f"key-{key.name}", title, reason, needs, url, key.keyring, key.fingerprint, trusted, ca))
    else:
        path = f"{RPM_KEYS}{key.name}"
        draft.steps.append(
            ImportKey(f"key-{key.name}", "Import AMD's signing key", reason, needs, url, path, key.fingerprint, trusted, ca)
        )


def _certificate(draft: Draft, recipe: Recipe, files: Iterable[RepoFile]) -> None:
    ca = draft.options.ca
    if ca is None:
        return
    if recipe.package_manager == "apt":
        hosts = sorted({match for file in files for match in re.findall(r"https://([^/:\s]+)", file.text)})
        text = "".join(f'Acquire::https::{host}::CaInfo "{ca}";\n' for host in hosts)
        path = "/etc/apt/apt.conf.d/95rocmdoctor-ca"
        draft.steps.append(WriteFile("apt-ca", f"Write {path}", "the mirror's certificate authority", path=path, text=text))
    elif recipe.package_manager == "zypper":
        draft.note(f"zypper trusts the system's certificates only: {ca} must be among them (update-ca-certificates)")


def _normal(url: str) -> str:
    return url.rstrip("/").lower()


def _suite(text: str, url: str) -> str | None:
    """The suite behind an address in an apt file."""
    found = re.search(rf"{re.escape(url)}\s+(\S+)", text)
    return found[1] if found and not text.startswith("X-Repo") else None


def _adopted(draft: Draft, file: RepoFile, current: tuple[Repository, ...]) -> bool:
    """Whether other sources (amdgpu-install's own, or an administrator's) configure the same addresses properly."""
    serving: list[Repository] = []
    for url in file.urls:
        suite = _suite(file.text, url)
        found = next(
            (
                source
                for source in current
                if _normal(url) in map(_normal, source.uris)
                and (suite is None or suite in source.suites)
                and (source.kind != "apt" or source.signed_by)
                and source.gpgcheck is not False
            ),
            None,
        )
        if found is None:
            return False
        serving.append(found)
    if all(source.file == file.path for source in serving):
        text = known(lambda: draft.facts.host.read(file.path), None)
        if text == file.text or set(map(_normal, file.urls)) != {
            _normal(u) for s in current if s.file == file.path for u in s.uris
        }:
            return False  # ours already (then the step says so), or there is more in it than belongs there
    where = " and ".join(dict.fromkeys(source.file for source in serving))
    draft.note(f"{where} already has AMD's repository; it is left as it is")
    return True


def _others(draft: Draft, files: list[RepoFile], current: tuple[Repository, ...]) -> None:
    """Files with other releases of what is configured now: two releases at once get mixed (repo.one-release)."""
    wanted = {_normal(url) for file in files for url in file.urls}
    ours = {file.path for file in files}
    for path in dict.fromkeys(source.file for source in current):
        if path in ours:
            continue
        sources = [source for source in current if source.file == path]
        others = [
            s
            for s in sources
            if s.product in ("rocm", "amdrocm", "graphics", "amdgpu") and not wanted & set(map(_normal, s.uris))
        ]
        if not others or draft.options.side_by_side:
            continue
        everything = [s for s in known(lambda: draft.facts.repos.sources, ()) if s.file == path]
        if len(everything) != len(sources):
            draft.refuse(
                "mixed-file",
                f"{path} has another release of AMD's repositories beside other sources: {others[0].text}",
                "take AMD's lines out of that file",
            )
            continue
        name = path.rpartition("/")[2]
        draft.steps.append(RemoveFile(f"other-{name}", f"Remove {path}", "another release of AMD's repositories", path=path))


def _beside(file: RepoFile, release: str) -> RepoFile:
    """Side by side every release has files and sections of its own: rocm-6.2.4.list, [rocm-6.2.4]. So none is written over
    another's, and each goes by itself."""
    folder, _, name = file.path.rpartition("/")
    stem, dot, kind = name.rpartition(".")
    text = _SECTION.sub(lambda found: found[0] if release in found[1] else f"[{found[1]}-{release}]", file.text)
    return RepoFile(f"{folder}/{stem}-{release}{dot}{kind}", text)


def _newer_driver(draft: Draft, recipe: Recipe, current: tuple[Repository, ...]) -> None:
    """There is one driver for all releases, and the package manager takes the newest of those that are configured."""
    for source in current:
        if source.product == "amdgpu" and source.release and versions.key(source.release) > versions.key(recipe.driver or ""):
            draft.refuse(
                "side-by-side-driver",
                f"{source.file} has the driver {source.release}, which is newer than {recipe.driver}, and both releases share it",
                "--driver inbox or none keeps the driver as it is",
            )


def _pin(draft: Draft, recipe: Recipe) -> None:
    if recipe.pin is None:
        return
    for pin in known(lambda: draft.facts.repos.pins, ()):
        if (
            pin.covers(draft.matrix.faults.shadowed_packages)
            and (pin.priority or 0) >= PIN_PRIORITY
            and pin.file != recipe.pin.path
        ):
            draft.note(f"{pin.file} pins AMD's packages already")
            return
    reason = "the distribution's rocminfo, hipcc and rocm-cmake have higher numbers and older code"
    draft.steps.append(WriteFile("pin", f"Write {recipe.pin.path}", reason, path=recipe.pin.path, text=recipe.pin.text))


def _extra(draft: Draft, recipe: Recipe) -> tuple[str, ...]:
    """EPEL and CodeReady Builder; SUSE's modules and the project with Perl modules. The answer are ids of repositories whose
    lists are read with AMD's."""
    extra = draft.matrix.extra_repositories(recipe.package_manager, recipe.os_version)
    if extra is None:
        return ()
    sources = known(lambda: draft.facts.repos.sources, ())
    enabled = {s.id.lower() for s in sources if s.enabled}
    lacking = [words for words in extra.ids if not any(word in name for word in words for name in enabled)]
    network, reason = ("root", "network"), "AMD's packages need it"
    if draft.options.mirror is not None and lacking:
        draft.note(
            "--mirror has AMD's downloads, not the distribution's: where the internet is out of reach, configure the site's own "
            f"{' and '.join('/'.join(words) for words in lacking)} repositories first"
        )
    if extra.release_package and extra.ids[0] in lacking:
        install = (recipe.package_manager, "-y", "install", extra.release_package)
        back = (recipe.package_manager, "-y", "remove", extra.package_name or "")
        draft.steps.append(
            RunCommand(
                "epel",
                "Add the EPEL repository",
                reason,
                network,
                argv=install,
                path=extra.brings or "",
                back=back,
                repository=extra.rehearsed or "",
            )
        )
    if extra.enable and extra.ids[-1] in lacking:
        words = extra.ids[-1]
        ids = (s.id for s in sources if not s.enabled and any(w in s.id.lower() for w in words) and not _OTHER_KINDS.search(s.id))
        draft.steps.append(
            RunCommand(
                "builder",
                "Enable the CodeReady Builder repository",
                reason,
                network,
                argv=extra.enable,
                back=extra.disable,
                enables=tuple(dict.fromkeys(ids)),
            )
        )
    if extra.modules and lacking:
        places = ("/usr/bin/SUSEConnect", "/usr/sbin/SUSEConnect")
        here = [path for path in places if known(lambda path=path: draft.facts.host.node(path), None) is not None]  # type: ignore[misc]
        if not here:
            names = ", ".join(module.partition("/")[0] for module in extra.modules)
            draft.note(f"AMD's packages may need these modules, and there is no SUSEConnect to enable them: {names}")
        for words, module in zip(extra.ids, extra.modules, strict=True):
            if here and words in lacking:
                name = module.partition("/")[0]
                draft.steps.append(
                    RunCommand(
                        f"module-{name}",
                        f"Enable {name}",
                        reason,
                        network,
                        argv=("SUSEConnect", "-p", module),
                        back=("SUSEConnect", "-d", "-p", module),
                    )
                )
    if extra.project is not None and recipe.line == "classic":
        return _project(draft, extra.project, sources)
    return ()


def _project(draft: Draft, project: BuildServiceProject, sources: Iterable[Repository]) -> tuple[str, ...]:
    """A repository of the Open Build Service, whose key belongs to the project alone: no package of SUSE's has it.

    So zypper is not told to import whatever key it finds (--gpg-auto-import-keys), and the project does not write its own .repo
    file: the key is fetched over HTTPS, shown, and from then on the only one that counts. The file gives the project a low
    priority: of a package that SUSE has too, SUSE's is taken."""
    address = project.urls[0].partition("://")[2].partition("/")[2].rstrip("/")
    if any(s.enabled and (s.id.lower() == project.id or any(u.rstrip("/").endswith(address) for u in s.uris)) for s in sources):
        return ()
    file, url = mirror.file_at(draft, RepoFile(project.path, project.text)), mirror.at(draft, project.key)
    needs, ca = ("root", "network"), draft.options.ca or ""
    reason = "AMD's packages need Perl modules from it"
    place = f"{RPM_KEYS}{project.id}"
    if project.fingerprint:
        trusted = (project.fingerprint,)
        title = f"Import the signing key of {project.name}"
        draft.steps.append(ImportKey("key-project", title, reason, needs, url, place, project.fingerprint, trusted, ca))
    else:
        host = url.partition("://")[2].partition("/")[0]
        draft.note(
            f"{project.name} (Perl modules) is signed with a key whose fingerprint neither AMD nor SUSE publishes: it is "
            f"trusted as {host or url} gives it now, and no other from then on. To decide that yourself add the repository and "
            "its key first"
        )
        if not url.startswith(("https://", "file://")):
            draft.refuse(
                "project-key",
                f"the key of {project.name} is not pinned, and {url} is no HTTPS address that could vouch for it",
                "add the repository and its key yourself, or use a mirror with HTTPS",
            )
        title = f"Trust the signing key of {project.name} at the first use"
        draft.steps.append(TrustKey("key-project", title, reason, needs, url, place, "", (), ca))
    name = file.path.rpartition("/")[2]
    draft.steps.append(WriteFile(f"repo-{name}", f"Write {file.path}", reason, path=file.path, text=file.text))
    return (project.id,)
