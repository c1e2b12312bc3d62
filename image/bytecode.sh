#!/bin/sh
# Compiles what lies in a folder for the place where the image has it. The image's file system is read-only, so that
# every start would compile it anew.
#
#   image/bytecode.sh PYTHON FOLDER PLACE
set -eu
PYTHONDONTWRITEBYTECODE= "$1" -m compileall -q --invalidation-mode unchecked-hash -s "$2" -p "$3" "$2"
