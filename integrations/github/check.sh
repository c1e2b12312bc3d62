#!/usr/bin/env bash
# The step of action.yml: installs the command line into the runner's temporary folder, and checks the paths.
# It reads the inputs as INPUT_*, and GITHUB_ACTION_PATH, GITHUB_OUTPUT, GITHUB_STEP_SUMMARY and RUNNER_TEMP.
set -euo pipefail

# Adds an option for each line of a variable that is not empty.
arguments=(--recursive --fail-on "$INPUT_FAIL_ON" --output github --output "text=$RUNNER_TEMP/gpushare-check.txt")
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

program="$RUNNER_TEMP/gpushare-check"
"$INPUT_PYTHON" -m venv "$program"
"$program/bin/python" -m pip install --quiet --disable-pip-version-check \
  --constraint "$GITHUB_ACTION_PATH/constraints.txt" "$GITHUB_ACTION_PATH/light"

code=0
"$program/bin/gpushare-webhook" check "${arguments[@]}" || code=$?
echo "exit-code=$code" >> "$GITHUB_OUTPUT"
if [ -s "$RUNNER_TEMP/gpushare-check.txt" ]; then
  # Four blanks make a block of code, which text of manifests cannot end.
  sed 's/^/    /' "$RUNNER_TEMP/gpushare-check.txt" >> "$GITHUB_STEP_SUMMARY"
fi
exit "$code"
