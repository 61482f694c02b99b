#!/bin/sh
# The one layer that an image of ours adds to its base, made in the build stage of its Containerfile, in two steps: a
# changed line of code does not install the dependencies again.
#
#   layer.sh dependencies LOCK     what requirements/LOCK.txt names, into /opt/paceline
#   layer.sh paceline [FOLDER]     Paceline itself from /src, then all into /layer, with an empty FOLDER
set -eu
export PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_FIND_LINKS=/image/wheels PIP_NO_CACHE_DIR=1 PIP_ROOT_USER_ACTION=ignore

dependencies() {
  python -m venv /build
  /build/bin/pip install --no-deps --require-hashes --only-binary :all: --requirement /locks/build.txt
  python -m venv --without-pip /opt/paceline
  /build/bin/pip --python /opt/paceline/bin/python install --no-deps --no-compile --require-hashes --only-binary :all: \
    --requirement "/locks/$1.txt"
}

paceline() {
  /build/bin/pip wheel --no-deps --no-build-isolation --wheel-dir /dist /src
  /build/bin/pip --python /opt/paceline/bin/python install --no-compile --no-deps --no-index /dist/*.whl
  compile
  mkdir -p "/layer/${1:-}"
  cp -a --parents /opt/paceline /layer
  find "$stdlib" -name __pycache__ -exec cp -a --parents {} /layer ';'
  find /layer -exec touch -h -d "@$SOURCE_DATE_EPOCH" {} +
}

# Nothing can be compiled later, on a root that is read-only. The base has no compiled standard library either, which
# costs every start half a second: so it comes along (12 MB). Unchecked: these files never change.
compile() {
  stdlib=$(python -c 'import sysconfig; print(sysconfig.get_path("stdlib"))')
  find "$stdlib" -name __pycache__ -prune -exec rm -r {} +
  python -m compileall -q -f --invalidation-mode unchecked-hash /opt/paceline/lib
  python -m compileall -q -f --invalidation-mode unchecked-hash \
    -x '/(site-packages|test|tests|idlelib|ensurepip|lib2to3|tkinter|turtledemo)/' "$stdlib"
}

"$@"
