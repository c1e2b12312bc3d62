#!/usr/bin/env bash
# The step of action.yml: installs the libraries of the command line into a new folder, and checks the paths.
# It reads the inputs as INPUT_*, and GITHUB_ACTION_PATH, GITHUB_OUTPUT, GITHUB_STEP_SUMMARY and RUNNER_TEMP.
#
# The author of a change may be hostile, so that nothing in the checkout, which is the working directory, may run. Python
# is isolated (-I): neither the working directory nor PYTHONPATH is a source of modules. It is installed from outside the
# checkout, because version managers read files of the working directory, and pip resolves relative paths against it.
set -euo pipefail

checkout=$PWD
program=$(mktemp -d "$RUNNER_TEMP/gpushare-check.XXXXXX")

# Ends the step with a code of the command line.
end() {
  echo "exit-code=$1" >> "$GITHUB_OUTPUT"
  exit "$1"
}

# Ends the step because of an input.
refuse() {
  echo "::error title=gpushare-webhook check::$1"
  end 2
}

# Adds an option for each line of a variable that is not empty. No facts come from the manifests of the change.
arguments=(--no-facts-from-inputs --fail-on "$INPUT_FAIL_ON" --output github --output "text=$program/report.txt")
add() {
  local line
  while IFS= read -r line; do
    if [ -n "$line" ]; then arguments+=("$1" "$line"); fi
  done <<< "$2"
}
add --exclude "$INPUT_EXCLUDE"
add --config "$INPUT_CONFIG"
add --profile "$INPUT_PROFILE"
add --facts "$INPUT_FACTS"
add --baseline "$INPUT_BASELINE"
if [ -n "$INPUT_SARIF" ]; then arguments+=(--output "sarif=$INPUT_SARIF"); fi
add --filename "$INPUT_PATHS"

case $INPUT_DISCOVER_SETTINGS in
  true) ;;
  false)
    if [ -z "$INPUT_CONFIG" ]; then
      # An empty file: the defaults apply, and no other file is looked for.
      arguments+=(--config /dev/null)
      if [ -n "${GPUSHARE_CONFIG:-}" ] || [ -e .gpushare.yaml ]; then
        echo "::notice title=gpushare-webhook check::the default settings apply, and neither .gpushare.yaml nor" \
          "GPUSHARE_CONFIG; name a file in config, or set discover-settings"
      fi
    fi
    ;;
  *) refuse "discover-settings is neither true nor false" ;;
esac

# Runs in a subshell: the checkout stays the working directory of what follows.
install() (
  cd "$program" || return
  unset "${!PYTHON@}" # venv runs a second Python to install pip, which is not isolated
  "$INPUT_PYTHON" -I -m venv "$program" &&
    "$program/bin/python" -I -m pip install --quiet --disable-pip-version-check --no-deps --only-binary :all: \
      --require-hashes --requirement "$GITHUB_ACTION_PATH/integrations/requirements.txt"
)
install || refuse "the libraries cannot be installed; the input python must be CPython 3.11 to 3.14 on Linux or macOS"

code=0
"$program/bin/python" -I "$GITHUB_ACTION_PATH/integrations/github/start.py" check "${arguments[@]}" || code=$?
if [ -s "$program/report.txt" ]; then
  # Four blanks make a block of code, which text of manifests cannot end.
  sed 's/^/    /' "$program/report.txt" >> "$GITHUB_STEP_SUMMARY"
fi
end "$code"
