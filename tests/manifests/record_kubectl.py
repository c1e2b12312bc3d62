"""Record how kubectl reads manifests into data/kubectl.json: `python tests/manifests/record_kubectl.py`.

Two readers answer each case, both of the newest release, which Go downloads and builds. The library is record/main.go:
kubectl's own decoders. kubectl is the program: `kubectl label --local` reads a manifest, adds a label and prints JSON
without asking any cluster; its answer is noted where it differs. The version stands in the file.

The table holds the cases too: to add one, add its name and its input there, and record again.
"""

from __future__ import annotations

import base64
import json
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
TABLE = HERE / "data" / "kubectl.json"
VERSION = "v0.37.2"
MODULES = (f"k8s.io/apimachinery@{VERSION}", f"k8s.io/kubectl@{VERSION}")
LABEL = "recorded"


def ask_kubectl(program: Path, text: str) -> dict[str, Any]:
    command = [str(program), "label", "--local", "-f", "-", "-o", "json", f"{LABEL}=yes"]
    done = subprocess.run(command, input=text.encode(), capture_output=True, check=False)
    decoder, output, objects = json.JSONDecoder(), done.stdout.decode().strip(), []
    while output:
        value, end = decoder.raw_decode(output)
        objects.append(_unlabelled(value))
        output = output[end:].lstrip()
    return {"objects": objects} if done.returncode == 0 else {"objects": objects, "error": done.stderr.decode().strip()}


def _unlabelled(value: dict[str, Any]) -> dict[str, Any]:
    del value["metadata"]["labels"][LABEL]
    for parent, key in ((value["metadata"], "labels"), (value, "metadata")):
        if not parent[key]:
            del parent[key]
    return value


def ask_library(program: Path, texts: list[str]) -> list[dict[str, Any]]:
    inputs = json.dumps([base64.b64encode(text.encode()).decode() for text in texts])
    done = subprocess.run([str(program)], input=inputs.encode(), check=True, capture_output=True)
    answers: list[dict[str, Any]] = json.loads(done.stdout)
    return answers


def build(folder: Path) -> tuple[Path, Path]:
    """Build both readers in an empty folder, and return their paths."""
    shutil.copytree(HERE / "record", folder, dirs_exist_ok=True)
    for command in (
        ["mod", "init", "record"],
        ["get", *MODULES],
        ["mod", "tidy"],
        ["build", "-o", "library", "."],
        ["build", "-o", "kubectl.exe", "./kubectl"],
    ):
        subprocess.run(["go", *command], cwd=folder, check=True, capture_output=True)
    return folder / "library", folder / "kubectl.exe"


def main() -> None:
    """Ask both readers about the inputs of the table, and write it."""
    inputs: dict[str, str] = {name: case["input"] for name, case in json.loads(TABLE.read_text())["cases"].items()}
    with tempfile.TemporaryDirectory() as folder:
        library, kubectl = build(Path(folder))
        answers = ask_library(library, list(inputs.values()))
        lines = [
            _line(kubectl, name, text, answer) for (name, text), answer in zip(inputs.items(), answers, strict=True)
        ]
    body = ",\n".join(lines)
    TABLE.write_text(f'{{"version": {json.dumps(VERSION)}, "cases": {{\n{body}\n}}}}\n')


def _line(kubectl: Path, name: str, text: str, answer: dict[str, Any]) -> str:
    case = {"input": text, **answer}
    other = ask_kubectl(kubectl, text)
    if other["objects"] != answer["objects"] or ("error" in other) != ("error" in answer):
        case["kubectl"] = other
    return f"  {json.dumps(name)}: {json.dumps(case)}"


if __name__ == "__main__":
    main()
