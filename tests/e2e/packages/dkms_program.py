"""A stand-in for dkms(8): the same tree below /var/lib/dkms, the same places for modules, and no compiler."""

from __future__ import annotations

from tests.e2e.packages.package import Content, Program

FOLDERS = {"deb": "updates/dkms", "el": "extra", "suse": "updates"}
"""Below /lib/modules/KERNEL, by family."""

_TEXT = """\
#!/bin/sh
# dkms ACTION -m MODULE -v VERSION [-k KERNEL] [--all]; dkms status. A kernel named in /.e2e/state/dkms-fails fails to build.
tree=/var/lib/dkms arch=x86_64 folder=@FOLDER@
action=$1; shift
module= version= kernel=$(uname -r) all=
while [ $# -gt 0 ]; do
    case "$1" in
        -m) module=$2; shift 2 ;;
        -v) version=$2; shift 2 ;;
        -k) kernel=$2; shift 2 ;;
        --all) all=1; shift ;;
        */*) module=${1%%/*} version=${1#*/}; shift ;;
        *) shift ;;
    esac
done
place="$tree/$module/$version"
uninstall() {
    rm -f "/lib/modules/$1/$folder/$module.ko" "$tree/$module/kernel-$1-$arch"
    rmdir -p --ignore-fail-on-non-empty "/lib/modules/$1/$folder" 2>/dev/null
    depmod "$1" 2>/dev/null || true
}
case "$action" in
    add)
        [ -e "/usr/src/$module-$version/dkms.conf" ] || { echo "Error! Could not find module source directory." >&2; exit 2; }
        if [ -e "$place" ]; then echo "Error! DKMS tree already contains: $module/$version" >&2; exit 3; fi
        mkdir -p "$place" && ln -s "/usr/src/$module-$version" "$place/source" ;;
    build)
        [ -e "/lib/modules/$kernel/build/Makefile" ] || {
            echo "Error! Your kernel headers for kernel $kernel cannot be found." >&2; exit 1; }
        mkdir -p "$place/build"
        if grep -qxF "$kernel" /.e2e/state/dkms-fails 2>/dev/null; then
            printf '%s\\n' "DKMS make.log for $module-$version for kernel $kernel ($arch)" \\
                "$place/build/amd/amdgpu/amdgpu_drv.c:1:10: error: implicit declaration of function 'foo'" \\
                "make: *** [Makefile:240: __sub-make] Error 2" > "$place/build/make.log"
            echo "Error! Bad return status for module build on kernel: $kernel ($arch)" >&2
            echo "Consult $place/build/make.log for more information." >&2
            exit 10
        fi
        rm -rf "$place/build"
        mkdir -p "$place/$kernel/$arch/module" "$place/$kernel/$arch/log"
        echo "DKMS make.log for $module-$version for kernel $kernel ($arch)" > "$place/$kernel/$arch/log/make.log"
        printf 'version=%s\\nvermagic=%s SMP preempt mod_unload modversions\\n' "${version%%-*}" "$kernel" \\
            > "$place/$kernel/$arch/module/$module.ko" ;;
    install)
        [ -e "$place/$kernel/$arch/module/$module.ko" ] || { echo "Error! $module/$version is not built." >&2; exit 4; }
        mkdir -p "/lib/modules/$kernel/$folder"
        cp "$place/$kernel/$arch/module/$module.ko" "/lib/modules/$kernel/$folder/$module.ko"
        ln -sfn "$version/$kernel/$arch" "$tree/$module/kernel-$kernel-$arch"
        depmod "$kernel" 2>/dev/null || true ;;
    remove)
        [ -e "$place" ] || { echo "Error! There are no instances of module: $module $version" >&2; exit 3; }
        for built in "$place"/*/"$arch"; do
            [ -e "$built" ] || continue
            name=${built%/*}; name=${name##*/}
            if [ "$(readlink "$tree/$module/kernel-$name-$arch")" = "$version/$name/$arch" ]; then uninstall "$name"; fi
        done
        rm -rf "$place"
        rmdir "$tree/$module" 2>/dev/null || true ;;
    status)
        for place in "$tree"/*/*/source; do
            [ -L "$place" ] || continue
            place=${place%/source}; version=${place##*/}; module=${place%/*}; module=${module##*/}
            any=
            for built in "$place"/*/"$arch"; do
                [ -e "$built" ] || continue
                any=1; name=${built%/*}; name=${name##*/}; state=built
                if [ "$(readlink "$tree/$module/kernel-$name-$arch")" = "$version/$name/$arch" ]; then state=installed; fi
                echo "$module/$version, $name, $arch: $state"
            done
            [ -n "$any" ] || echo "$module/$version: added"
        done ;;
esac
"""


def dkms(family: str) -> dict[str, Content]:
    """Files of the package."""
    return {"/usr/sbin/dkms": Program(_TEXT.replace("@FOLDER@", FOLDERS[family])), "/var/lib/dkms/dkms_dbversion": "2.0.0\n"}
