#!/bin/sh
# Compiles the modules of a folder for the place that they have in the image. Its file system is read-only, so without
# this every start would compile them again.
#
#   release/image/bytecode.sh PYTHON FOLDER PLACE
set -eu
PYTHONDONTWRITEBYTECODE= "$1" -m compileall -q --invalidation-mode unchecked-hash -s "$2" -p "$3" "$2"
