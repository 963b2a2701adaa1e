"""What package managers and repositories say."""

from __future__ import annotations

from rocmdoctor.diagnosis.recognition import error_text

INSTALL_TEXTS = (
    error_text(
        "held-broken",
        "held broken packages / unmet dependencies",
        """
        held broken packages
        unmet dependencies
        but it is not going to be installed
        but it is not installable
        nothing provides
        conflicting requests
        cannot install the best candidate
        dependency is not satisfiable
        """,
        "Packages of two releases or of two origins want each other: another codename, Ubuntu's own packages of the same "
        "name, or a half-done upgrade.",
        "repo.* packages.* os_support.* dkms.apu",
        "`apt policy PACKAGE` of the first package named shows which repository each version comes from.",
    ),
    error_text(
        "no-pubkey",
        "NO_PUBKEY",
        """
        no_pubkey
        because the public key is not available
        repository...is not signed
        public key for...is not installed
        gpg check failed
        no public key
        """,
        "The key that signs the repository is not where the source file says (signed-by), or there is no signed-by.",
        "repo.keys repo.*",
        "AMD's keys and files are in order here: the message may be of another repository.",
    ),
    error_text(
        "key-expired",
        "EXPKEYSIG / key expired",
        """
        expkeysig
        keyexpired
        key is expired
        signature...expired
        the following signatures were invalid
        """,
        "The stored copy of the signing key has passed its date. The owner re-issues the same key with a later one.",
        "repo.keys repo.*",
        "AMD's keys are in date here: the message may be of another repository.",
    ),
    error_text(
        "no-release-file",
        "does not have a Release file / 404",
        """
        does not have a release file
        no longer has a release file
        404 not found [ip
        err:...404 not found
        failed to fetch...404
        status code: 404
        cannot download repomd.xml
        failed to download metadata for repo
        repository...403 forbidden
        failed to fetch...403
        """,
        "The address names a release, codename or folder that the server does not have.",
        "repo.paths repo.suite repo.* os_support.* network.*",
        "The addresses are ones that exist: look at proxy and mirror settings, then at the server's state.",
    ),
    error_text(
        "unable-to-locate",
        "Unable to locate package",
        """
        unable to locate package rocm
        unable to locate package amdgpu
        unable to locate package amdrocm
        unable to locate package hip
        no match for argument: rocm
        no match for argument: amdgpu
        no package rocm
        has no installation candidate
        """,
        "The repository that has the package is not configured, not updated, or of another codename.",
        "repo.* os_support.* rocm_install.present",
        "Run apt-get update (or dnf makecache), and read its warnings.",
    ),
    error_text(
        "dpkg",
        "dpkg was interrupted / returned an error code",
        """
        dpkg was interrupted
        sub-process /usr/bin/dpkg returned an error code
        errors were encountered while processing
        dependency problems - leaving unconfigured
        """,
        "A package's script failed; until that is mended, every installation ends there.",
        "dkms.* packages.configured disk.* packages.* repo.pin",
        "The first package in the list of errors is the one to look at.",
    ),
    error_text(
        "no-space",
        "No space left on device",
        """
        no space left on device
        update-initramfs: failed
        mkinitramfs...failure
        cpio: write error
        zstd: error 70
        not enough free space
        you don't have enough free space in
        """,
        "A file system is full. A driver with its firmware makes each initramfs larger, and /boot is small.",
        "disk.* memlock_shm.shm packages.configured",
        "`df -h` and `df -i` show which; build folders in /tmp and ~/.cache count too.",
    ),
    error_text(
        "libtinfo",
        "libtinfo.so.5 and other libraries of an older distribution",
        """
        libtinfo.so.5
        libtinfo5
        libffi.so.6
        libstdc++-5-dev
        nothing provides...libtinfo
        glibc_...not found (required by
        """,
        "The packages are of another distribution (or release of it) than this host.",
        "repo.suite repo.* os_support.* packages.*",
        "Take the packages of this distribution instead of adding the old library.",
    ),
)
