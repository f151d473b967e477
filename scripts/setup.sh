#!/bin/sh
# Makes .venv with everything pinned in requirements.lock, and the project itself, editable.
#
# Run by make, which redoes it only when the lock or pyproject.toml changed. Uses uv if it is there, else Python's
# own venv and pip. Speaks on standard error only, so that `make demo ARGS=--json` prints nothing but JSON.
set -eu
exec 1>&2
cd "$(dirname "$0")/.."
stamp=$1
venv=$PWD/.venv

usable() { "$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; }

find_python() {
    for name in python3.14 python3.13 python3.12 python3.11 python3; do
        if usable "$name"; then
            echo "$name"
            return
        fi
    done
}

# A venv that was copied from elsewhere still points there; one with an older Python is of no use.
if [ -d "$venv" ] && ! { grep -qF "$venv" "$venv/bin/activate" && usable "$venv/bin/python"; } 2>/dev/null; then
    rm -rf "$venv"
fi

if command -v uv >/dev/null 2>&1; then
    echo "setting up .venv with uv"
    [ -d "$venv" ] || uv venv --quiet --python '>=3.11' "$venv"
    export VIRTUAL_ENV="$venv"
    uv pip install --quiet --require-hashes -r requirements.lock
    uv pip install --quiet --no-deps --editable .
else
    if [ ! -d "$venv" ]; then
        python=$(find_python)
        if [ -z "$python" ]; then
            echo "socialq needs Python 3.11 or later; found none among python3.14 … python3.11 and python3."
            echo "Install one (Debian, Ubuntu: apt install python3 python3-venv), or uv: https://docs.astral.sh/uv/"
            exit 1
        fi
        if ! "$python" -m venv "$venv"; then
            rm -rf "$venv"
            echo "$python could not make a virtual environment (Debian, Ubuntu: apt install python3-venv)."
            exit 1
        fi
    fi
    # A venv that uv made has no pip.
    "$venv/bin/python" -m pip --version >/dev/null 2>&1 || "$venv/bin/python" -m ensurepip >/dev/null
    echo "setting up .venv with pip (about 20 seconds, once)"
    "$venv/bin/python" -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock
    "$venv/bin/python" -m pip install --quiet --disable-pip-version-check --no-deps --editable .
fi

rm -f "$venv"/.installed-*
touch "$stamp"
