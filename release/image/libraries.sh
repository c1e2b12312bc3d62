#!/bin/sh
# Installs the libraries that the webhook needs into a folder, and removes what it never loads.
# The Dockerfile runs this, and so do the tests on a real cluster, which pack the same image without a container engine.
#
#   release/image/libraries.sh PYTHON FOLDER [OPTION OF PIP ...]
set -eu
python=$1 folder=$2
shift 2
here=$(dirname "$0")

# Exactly the wheels of requirements.txt: pip rejects a file with another digest, and adds no package.
"$python" -m pip install --quiet --disable-pip-version-check --no-compile --only-binary=:all: --no-deps --require-hashes \
  --target="$folder" --requirement="$here/requirements.txt" "$@"

# The typed half of the Kubernetes client, 65 MB: the webhook sends raw requests. Its packages, which load it on demand, stay.
for part in client aio/client; do
  find "$folder/kubernetes/$part/models" "$folder/kubernetes/$part/api" -name '*.py' ! -name __init__.py -delete
done
# Tests of libraries, and their programs.
rm -rf "$folder/bin" "$folder/websocket/tests" "$folder/certifi/tests"
