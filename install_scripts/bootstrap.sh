#!/bin/sh
# From a bare supported distribution to a working rocmdoctor: an environment of its own, and a link to its program.
# README.md in this folder tells more. Exit status: 0 done, 1 it failed and nothing is half made, 2 wrong usage or refused.
set -eu
umask 022 # other users run what root installs, whatever root's own umask is
export LC_ALL=C
# What would turn pip or Python away from the new environment. Settings about indexes, proxies and certificates stay.
unset PYTHONPATH PYTHONHOME PIP_TARGET PIP_PREFIX PIP_ROOT PIP_USER PIP_REQUIRE_VIRTUALENV PIP_PYTHON

readonly DEFAULT_PREFIX=/opt/rocmdoctor
readonly MARK=.made-by-rocmdoctor-bootstrap
# Both are for tests.
readonly OS_RELEASE="${BOOTSTRAP_OS_RELEASE:-/etc/os-release}"
readonly PYTHONS="${BOOTSTRAP_PYTHONS:-/usr/bin/python3 python3 python3.13 python3.12 python3.11 python3.10 python3.14}"

usage() {
    cat <<END
Usage: bootstrap.sh [OPTION]...
Installs rocmdoctor into PREFIX/app, with a link to its program, or brings an older one up to date.

  --source PATH   what to install: a source tree or a wheel (default: the tree of this script, else the wheel in --wheels)
  --wheels DIR    offline: take every package from this folder of wheels
  --python PATH   the Python to use, 3.10 or newer (default: one that is here, else the distribution's)
  --prefix DIR    where to install (default: $DEFAULT_PREFIX)
  --bin DIR       where to put the link (default: /usr/local/bin, or PREFIX/bin with --prefix)
  --reinstall     build the environment anew even where nothing has changed
  --uninstall     remove what this script made; packages of the distribution and other folders in PREFIX stay
  --dry-run       say what would be done, and change nothing
  --yes           do not ask; needed where there is no terminal
END
}

say() { printf '%s\n' "$*"; }
fail() { printf 'bootstrap: %s\n' "$*" >&2; exit 1; }
refuse() { printf 'bootstrap: %s\n' "$*" >&2; exit 2; }

# Options -----------------------------------------------------------------------------------------------------------

source='' wheels='' python='' prefix=$DEFAULT_PREFIX bin='' reinstall='' uninstall='' dry='' yes=''
while [ $# -gt 0 ]; do
    option=$1 value=''
    case $option in
    --source=* | --wheels=* | --python=* | --prefix=* | --bin=*) value=${option#*=} option=${option%%=*} ;;
    --source | --wheels | --python | --prefix | --bin)
        [ $# -ge 2 ] || refuse "$option needs a value (see --help)"
        value=$2
        shift
        ;;
    esac
    case $option in
    --source | --wheels | --python | --prefix | --bin) [ -n "$value" ] || refuse "$option needs a value (see --help)" ;;
    esac
    case $option in
    --source) source=$value ;;
    --wheels) wheels=$value ;;
    --python) python=$value ;;
    --prefix) prefix=$value ;;
    --bin) bin=$value ;;
    --reinstall) reinstall=1 ;;
    --uninstall) uninstall=1 ;;
    --dry-run) dry=1 ;;
    --yes | -y) yes=1 ;;
    --help | -h) usage && exit 0 ;;
    *) refuse "unknown option $option (see --help)" ;;
    esac
    shift
done

absolute() {
    case $1 in
    /*) printf '%s\n' "$1" ;;
    *) printf '%s/%s\n' "$(pwd)" "$1" ;;
    esac
}
prefix=$(absolute "$prefix")
while [ "$prefix" != "${prefix%/}" ]; do prefix=${prefix%/}; done
[ -n "$prefix" ] || refuse "--prefix / is no folder of its own"
if [ -z "$bin" ]; then
    bin=$prefix/bin
    [ "$prefix" != $DEFAULT_PREFIX ] || bin=/usr/local/bin
fi
bin=$(absolute "$bin")
app=$prefix/app
link=$bin/rocmdoctor
target=$app/current/bin/rocmdoctor

# Refuse before any change ----------------------------------------------------------------------------------------

# The nearest folder above $1 that exists.
existing() {
    existing=$1
    while [ ! -d "$existing" ]; do existing=$(dirname "$existing"); done
    printf '%s\n' "$existing"
}
for folder in "$app" "$bin"; do
    [ -n "$dry" ] || [ -w "$(existing "$folder")" ] ||
        refuse "no permission to write in $folder: run this as root, or give --prefix with a folder of your own"
done
if [ -e "$app" ] && [ ! -e "$app/$MARK" ] && [ -n "$(ls -A "$app")" ]; then
    refuse "$app was not made by this script: move it away, or give another --prefix"
fi
if [ -L "$link" ]; then
    [ "$(readlink "$link")" = "$target" ] ||
        refuse "$link leads to $(readlink "$link"), which is not from this script: remove it, or give another --bin"
elif [ -e "$link" ]; then
    refuse "$link is there and not from this script: remove it, or give another --bin"
fi

agreed() {
    [ -z "$yes" ] || return 0
    [ -t 0 ] || refuse "nobody to ask: give --yes to go on without a terminal (--dry-run shows what would be done)"
    printf 'Go on? [y/N] '
    read -r answer || answer=''
    case $answer in
    [yY]*) ;;
    *) refuse "stopped, nothing was changed" ;;
    esac
}

if [ -n "$uninstall" ]; then
    if [ ! -e "$app/$MARK" ] && [ ! -L "$link" ]; then
        say "rocmdoctor is not installed in $prefix"
        exit 0
    fi
    say "Remove the link $link and the folder $app."
    [ -z "$dry" ] || exit 0
    agreed
    rm -f "$link"
    rm -rf "$app"
    rmdir "$prefix/bin" "$prefix" 2>/dev/null || :
    say "rocmdoctor is removed. Packages of the distribution that it needed are still there."
    exit 0
fi

# What to install -------------------------------------------------------------------------------------------------

if [ -n "$wheels" ]; then
    [ -d "$wheels" ] || refuse "--wheels $wheels: no such folder"
    wheels=$(cd "$wheels" && pwd)
fi
if [ -z "$source" ]; then
    tree=$(dirname "$0")/..
    if [ -f "$tree/pyproject.toml" ] && [ -d "$tree/rocmdoctor" ]; then
        source=$(cd "$tree" && pwd)
    elif [ -n "$wheels" ]; then
        set -- "$wheels"/rocmdoctor-*.whl
        [ -e "$1" ] || refuse "$wheels holds no wheel of rocmdoctor"
        [ $# -eq 1 ] || refuse "$wheels holds $# wheels of rocmdoctor: name one with --source"
        source=$1
    else
        refuse "what to install? Give --source with a source tree or a wheel, or --wheels with a folder that holds it"
    fi
fi
case $source in
*.whl) [ -f "$source" ] || refuse "--source $source: no such file" ;;
*)
    if [ ! -f "$source/pyproject.toml" ] || [ ! -d "$source/rocmdoctor" ]; then
        refuse "--source $source: neither a wheel nor a source tree of rocmdoctor"
    fi
    ;;
esac
source=$(absolute "$source")

# Contents of the source, and which wheels it is installed with: the same words mean that nothing has changed.
fingerprint() {
    {
        if [ -f "$source" ]; then
            cksum <"$source"
        else
            (cd "$source" && find pyproject.toml compat_matrix.yaml checks rocmdoctor -type f ! -name '*.pyc' -exec cksum {} + |
                sort)
        fi
        [ -z "$wheels" ] || (cd "$wheels" && find . -name '*.whl' -exec ls -l {} + | awk '{ print $5, $NF }' | sort)
    } | cksum
}

# Python ------------------------------------------------------------------------------------------------------------

new_enough() { "$1" -I -c 'import sys; sys.exit(sys.version_info < (3, 10))' 2>/dev/null; }
version_of() { "$1" -I -c 'import platform; print(platform.python_version())' 2>/dev/null; }

# The first Python that is new enough: the distribution's own, which is updated with it, before others.
find_python() {
    for candidate in $PYTHONS; do
        if path=$(command -v "$candidate") && new_enough "$path"; then
            printf '%s\n' "$path"
            return 0
        fi
    done
    return 1
}

os_field() { sed -n "s/^$1=//p" "$OS_RELEASE" 2>/dev/null | head -n 1 | tr -d "\"'"; }
id=$(os_field ID) version=$(os_field VERSION_ID) name=$(os_field PRETTY_NAME)
manager=''
for word in $id $(os_field ID_LIKE); do
    case $word in
    debian | ubuntu) manager=apt-get ;;
    rhel | centos | fedora) manager=dnf ;;
    rocky | almalinux | ol) manager=dnf ;;
    sles | sled | suse | opensuse*) manager=zypper ;;
    azurelinux | mariner) manager=tdnf ;;
    *) continue ;;
    esac
    break
done

# Packages that bring a Python which is new enough, each word an alternative to be tried in this order.
python_packages() {
    case $manager:$id:$version in
    apt-get:ubuntu:[0-9].* | apt-get:ubuntu:1[0-9].* | apt-get:ubuntu:2[01].* | apt-get:debian:[1-9] | apt-get:debian:1[01]) ;;
    apt-get:*) say python3 ;;
    dnf:fedora:* | dnf:*:10*) say python3 ;;
    dnf:*) say python3.12 python3.11 ;;
    zypper:*:15*) say python311 ;;
    zypper:*) say python313 python3 ;;
    tdnf:*) say python3 ;;
    esac
}

may_install_packages() { [ -n "$manager" ] && command -v "$manager" >/dev/null && { [ "$(id -u)" = 0 ] || [ -n "$dry" ]; }; }

install_package() {
    case $manager in
    apt-get)
        export DEBIAN_FRONTEND=noninteractive
        apt-get install -y -q --no-install-recommends "$@" >>"$log" 2>&1 ||
            { apt-get update -q >>"$log" 2>&1 && apt-get install -y -q --no-install-recommends "$@" >>"$log" 2>&1; }
        ;;
    zypper) zypper --non-interactive install --no-recommends "$@" >>"$log" 2>&1 ;;
    *) "$manager" install -y "$@" >>"$log" 2>&1 ;;
    esac
}

no_python() {
    case $manager:$version in
    apt-get:*) hint="$name has none in its own repositories" ;;
    zypper:15*) hint="on SLES 15 the module 'Python 3' has it (SUSEConnect -p sle-module-python3/$version/$(uname -m))" ;;
    dnf:8* | dnf:9*) hint="the AppStream repository has python3.12 and python3.11" ;;
    *) hint="${name:-this system} is not known to have one" ;;
    esac
    printf '%s\n' "rocmdoctor needs Python 3.10 or newer, and there is none: $hint; name one of any origin with --python PATH"
}

packages=''
if [ -n "$python" ]; then
    command -v "$python" >/dev/null || refuse "--python $python: no such program"
    python=$(absolute "$(command -v "$python")")
    new_enough "$python" || refuse "--python $python: $(version_of "$python" || echo 'this') is not Python 3.10 or newer"
elif ! python=$(find_python); then
    packages=$(python_packages)
    if [ -z "$packages" ] || ! may_install_packages; then fail "$(no_python)"; fi
fi

# Where nothing is to be done -------------------------------------------------------------------------------------

print=$(fingerprint)
if [ -z "$reinstall" ] && [ "$(cat "$app/current/$MARK" 2>/dev/null)" = "$print" ] && [ "$(readlink "$link")" = "$target" ] &&
    installed=$("$link" --version 2>/dev/null); then
    say "$installed is installed already: $link"
    exit 0
fi

# The plan ----------------------------------------------------------------------------------------------------------

if [ -n "$packages" ]; then
    say "Install with $manager: $(echo "$packages" | sed 's/ /, or else /g')."
fi
if [ -n "$python" ]; then uses="$python ($(version_of "$python"))"; else uses="that Python"; fi
say "Make an environment in $app with $uses."
if [ -n "$wheels" ]; then from="packages from $wheels only"; else from="packages from pip's index"; fi
say "Install $source into it, with $from."
say "Link $link to it."
[ -z "$dry" ] || exit 0
agreed

# Build beside what works, and switch at the end ------------------------------------------------------------------

made_bin='' fresh='' log=''
clean_up() {
    status=$?
    trap - EXIT
    [ -z "$fresh" ] || rm -rf "$fresh"
    rm -f "$app/.current.$$" "$bin/.rocmdoctor.$$"
    [ -z "$made_bin" ] || rmdir "$bin" 2>/dev/null || :
    exit "$status"
}
trap clean_up EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

[ -d "$bin" ] || made_bin=1
mkdir -p "$app" "$bin" || fail "could not make $app and $bin"
: >"$app/$MARK"
if command -v flock >/dev/null; then
    exec 9>"$app/.lock"
    flock -n 9 || refuse "another bootstrap.sh is at work in $app"
fi
log=$app/bootstrap.log
: >"$log"

# The last line in which a package manager or pip says what went wrong.
why() {
    echo >>"$log" || { say "cannot write to $app (is the disk full?)" && return 0; }
    { grep -iE '^(E:|error|.*error:|no matching|.*no space left)' "$log" || grep . "$log"; } | tail -n 1
} 2>/dev/null
broken() { fail "$1: $(why) (all of it: $log)"; }

if [ -n "$packages" ]; then
    for package in $packages; do
        say "Installing $package ..."
        if install_package "$package" && python=$(find_python); then break; fi
        python=''
    done
    [ -n "$python" ] || broken "$(no_python); $manager said"
fi

fresh=$(mktemp -d "$app/env.XXXXXX")
chmod 755 "$fresh"

# A wheel of pip in the folder serves without being installed: quicker, and the distribution may keep ensurepip in a package of
# its own. Without one the environment gets Python's pip.
pip_wheel=''
if [ -n "$wheels" ]; then
    for file in "$wheels"/pip-*.whl; do [ ! -e "$file" ] || pip_wheel=$file; done
fi
make_environment() {
    "$python" -I -m venv --clear ${pip_wheel:+--without-pip} "$fresh" >>"$log" 2>&1
}
pip() {
    if [ -n "$pip_wheel" ]; then
        PYTHONPATH=$pip_wheel "$fresh/bin/python" -m pip "$@"
    else
        "$fresh/bin/python" -I -m pip "$@"
    fi
}

say "Making the environment ..."
if ! make_environment; then
    case $manager:$python in
    apt-get:/usr/bin/python3) venv_package=python3-venv ;;
    apt-get:/usr/bin/python3.*) venv_package=$(basename "$python")-venv ;;
    zypper:/usr/bin/python3.1*) venv_package=$(basename "$python" | tr -d .)-pip ;;
    *:/usr/bin/*) venv_package=$(basename "$python")-pip ;;
    *) venv_package='' ;;
    esac
    if [ -z "$venv_package" ] || [ -z "$manager" ]; then broken "$python cannot make an environment"; fi
    may_install_packages ||
        fail "$python cannot make an environment: it needs the package $venv_package (or a wheel of pip in the folder of --wheels)"
    say "Installing $venv_package ..."
    install_package "$venv_package" || broken "could not install $venv_package, which $python needs to make an environment"
    make_environment || broken "$python cannot make an environment"
fi

say "Installing rocmdoctor ..."
what=$source
if [ -d "$source" ]; then # the build writes beside the sources, which may be read-only or somebody's work
    mkdir "$fresh/.source"
    for part in pyproject.toml README.md LICENSE compat_matrix.yaml checks rocmdoctor; do
        said=$(cp -R -P "$source/$part" "$fresh/.source/" 2>&1) || fail "could not copy $source/$part: ${said##*: }"
    done
    what=$fresh/.source
fi
set -- install --disable-pip-version-check --no-input --no-warn-script-location
if [ -n "$wheels" ]; then
    # A configured index or folder of the site is no part of "from this folder only".
    export PIP_CONFIG_FILE=/dev/null
    set -- "$@" --isolated --no-index --find-links "$wheels"
fi
pip "$@" "$what" >>"$log" 2>&1 || broken "could not install rocmdoctor with $from"
rm -rf "$fresh/.source"
"$fresh/bin/rocmdoctor" list-checks >>"$log" 2>&1 || broken "the new rocmdoctor does not run"
installed=$("$fresh/bin/rocmdoctor" --version)
printf '%s\n' "$print" >"$fresh/$MARK"

# Two renames: each moment has a whole rocmdoctor behind the link, the old or the new one.
old=$(readlink "$app/current") || old=''
ln -s "$(basename "$fresh")" "$app/.current.$$"
mv -f -T "$app/.current.$$" "$app/current"
if ! { ln -s "$target" "$bin/.rocmdoctor.$$" && mv -f -T "$bin/.rocmdoctor.$$" "$link"; }; then
    rm -f "$app/current"
    [ -z "$old" ] || ln -s "$old" "$app/current"
    fail "could not make the link $link"
fi
made_bin='' keep=$(basename "$fresh") fresh=''

# Programs that run now may still load from the environment before this one; those before it, and broken ones, go.
for folder in "$app"/env.*; do
    case $(basename "$folder") in
    "$keep" | "$old") ;;
    *) rm -rf "$folder" ;;
    esac
done

say "$installed is installed: $link"
case :$PATH: in
*:"$bin":*) ;;
*) say "$bin is not on your PATH." ;;
esac
