"""Addresses of the matrix on this site's mirror: --mirror replaces scheme and host of every download, the path stays."""

from __future__ import annotations

import re

from rocmdoctor.matrix.recipes import RepoFile
from rocmdoctor.plan.draft import Draft

_URL = re.compile(r"https?://[^/\s]+(?=/)")
_WANTED = re.compile(r"(?:https?|file)://[^\s\"'\\$`]+")


def check(draft: Draft) -> None:
    """Refuse a mirror or certificate file that could not be written into a repository file as it is."""
    url, ca = draft.options.mirror, draft.options.ca
    if url is not None and not _WANTED.fullmatch(url):
        draft.refuse("mirror", "--mirror is no http, https or file address")
    elif url is not None and "@" in url:
        help = "put them where the package manager looks for them (apt_auth.conf(5), netrc)"
        draft.refuse("mirror", "--mirror has credentials in it, which repository files would show to everybody", help)
    if ca is not None and not re.fullmatch(r"/[\w./+-]+", ca):
        draft.refuse("ca", f"--ca {ca!r} is no absolute path of plain characters")


def at(draft: Draft, url: str) -> str:
    """An address on the mirror; itself without one."""
    mirror = draft.options.mirror
    return url if mirror is None else _URL.sub(lambda _: mirror.rstrip("/"), url, count=1)


def file_at(draft: Draft, file: RepoFile) -> RepoFile:
    """A repository file whose addresses are on the mirror; with --ca, dnf's say which certificate authority to trust."""
    mirror, ca = draft.options.mirror, draft.options.ca
    text = file.text if mirror is None else _URL.sub(lambda _: mirror.rstrip("/"), file.text)
    if ca is not None and file.path.startswith("/etc/yum.repos.d/"):
        text = re.sub(r"^(baseurl=.*)$", rf"\1\nsslcacert={ca}", text, flags=re.M)
    return RepoFile(file.path, text)
