"""Which launches a container's command line makes, and how many GPUs each takes."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.linear import assert_linear
from webhook.dryrun.search.evaluator import OfflineEvaluator
from webhook.policy.context import RequestContext
from webhook.policy.launchers.find import LIMIT, of_container
from webhook.policy.launchers.programs import one_command
from webhook.policy.launchers.words import Launch, Spread
from webhook.policy.pods.pod import APP, Container
from webhook.policy.pods.reading import MalformedError
from webhook.policy.settings.settings import Settings

CONTAINER, GROUP, CLUSTER = Spread.CONTAINER, Spread.GROUP, Spread.CLUSTER


def of(container: dict[str, Any]) -> list[Launch]:
    return list(of_container(Container(container, ("spec", "containers"), 0, APP)))


SCRIPT = "torchrun --nproc-per-node 4 t"


@pytest.mark.parametrize(
    ("raw", "place"),
    [
        ({"command": ["bash"], "source": SCRIPT}, ("source",)),
        ({"command": ["/bin/sh", "-e"], "source": f"# x\n\n{SCRIPT}\n"}, ("source",)),
        ({"command": ["/bin/sh", "-e"], "source": f"set -x\n{SCRIPT}\n"}, None),
        ({"command": ["python"], "source": SCRIPT}, None),
        ({"command": ["-" * LIMIT + " bash"], "source": SCRIPT}, None),
        ({"script": SCRIPT}, ("script",)),
        ({"script": f"#!/usr/bin/env bash\n{SCRIPT}"}, ("script",)),
        ({"script": f"#!/usr/bin/env python\n{SCRIPT}"}, None),
        ({"script": f"CUDA_VISIBLE_DEVICES= {SCRIPT}"}, None),
        ({"script": "echo"}, None),
        ({"script": 1}, None),
        ({"script": f"{SCRIPT}\n{'#' * LIMIT}"}, None),
    ],
)
def test_script_of_field(raw: dict[str, Any], place: object) -> None:
    assert [one.setting.place for one in of_container(Container(raw, (), 0, APP))] == ([] if place is None else [place])


def of_script(script: str) -> list[Launch]:
    return of({"command": ["bash", "-c"], "args": [script]})


def brief(found: list[Launch]) -> list[tuple[str, int, int, int, Spread, bool]]:
    return [(one.setting.option, one.setting.value, one.each, one.total, one.spread, one.spans) for one in found]


TAKES = {
    # torchrun
    "torchrun --nproc-per-node 4 train.py": ("--nproc-per-node", 4, 4, 4, CONTAINER, False),
    "torchrun --nproc_per_node=4 train.py": ("--nproc-per-node", 4, 4, 4, CONTAINER, False),
    "python -m torch.distributed.run --nproc-per-node 2 t": ("--nproc-per-node", 2, 2, 2, CONTAINER, False),
    "python3 -u -m torch.distributed.launch --nproc_per_node=2 t": ("--nproc-per-node", 2, 2, 2, CONTAINER, False),
    "torchrun --nnodes 2 --nproc-per-node 4 t": ("--nproc-per-node", 4, 4, 8, CLUSTER, True),
    "torchrun --nnodes=1:3 --nproc-per-node 4 t": ("--nproc-per-node", 4, 4, 4, CLUSTER, True),
    "torchrun --nnodes 1 --nproc-per-node 4 t": ("--nproc-per-node", 4, 4, 4, CONTAINER, False),
    "torchrun --nnodes $N --nproc-per-node 4 t": ("--nproc-per-node", 4, 4, 4, CLUSTER, True),
    "torchrun --nnodes 2 --nproc-per-node gpu t": ("--nproc-per-node", 1, 1, 2, CLUSTER, True),
    "torchrun --nnodes 2 t": ("--nnodes", 2, 1, 2, CLUSTER, True),
    "torchrun --standalone --nproc-per-node 2 -m train --nproc-per-node 8": (
        *("--nproc-per-node", 2, 2, 2),
        *(CONTAINER, False),
    ),
    "torchrun --nproc-per-node 2 --nproc-per-node 3 t": ("--nproc-per-node", 3, 3, 3, CONTAINER, False),
    "A=1 exec nohup torchrun --nproc-per-node 4 t": ("--nproc-per-node", 4, 4, 4, CONTAINER, False),
    "/opt/conda/bin/torchrun --rdzv_backend c10d --nproc-per-node 4 t": (
        *("--nproc-per-node", 4, 4, 4),
        *(CONTAINER, False),
    ),
    # MPI
    "mpirun -np 4 all_reduce_perf": ("-np", 4, 1, 4, GROUP, True),
    "mpiexec -n 4 /opt/nccl-tests/build/all_reduce_perf_mpi -b 8 -n 20 -g 2": ("-np", 4, 2, 8, GROUP, True),
    "mpirun -np 16 -N 8 -H a:8,b:8 alltoall_perf": ("-np", 16, 8, 16, CLUSTER, True),
    "mpirun -np 16 --map-by ppr:8:node --hostfile h sendrecv_perf": ("-np", 16, 8, 16, CLUSTER, True),
    "mpirun -np 2 -x NCCL_DEBUG=INFO python t.py": ("-np", 2, 1, 2, GROUP, True),
    "mpirun -np 1 all_reduce_perf -g 4": ("-np", 1, 4, 4, GROUP, False),
    "mpirun -np 2 all_reduce_perf -t 2 -g 2": ("-np", 2, 4, 8, GROUP, True),
    # vLLM
    "vllm serve m --tensor-parallel-size 4": ("--tensor-parallel-size", 4, 1, 4, GROUP, False),
    "vllm serve m -tp 4 -pp 2": ("--tensor-parallel-size", 4, 1, 8, GROUP, False),
    "vllm serve m -tp=2 -pp=4": ("--pipeline-parallel-size", 4, 1, 8, GROUP, False),
    "vllm serve m -tp $TP -pp 4": ("--pipeline-parallel-size", 4, 1, 4, GROUP, False),
    "vllm serve m -tp 2 -dp 4": ("--data-parallel-size", 4, 1, 8, GROUP, False),
    "vllm serve m -tp 2 -dp 8 --headless": ("--tensor-parallel-size", 2, 1, 2, GROUP, False),
    "vllm serve m -tp 2 -dp 8 --node-rank 1": ("--tensor-parallel-size", 2, 1, 2, GROUP, False),
    "vllm serve m -dp 8 --node-rank 1 --nnodes 2": ("--data-parallel-size", 8, 4, 8, CLUSTER, True),
    "vllm serve m -dp 8 --data-parallel-backend ray": ("--data-parallel-size", 8, 1, 8, CLUSTER, False),
    "python3 -m dynamo.vllm --model m --data-parallel-size 8": ("--data-parallel-size", 8, 1, 8, GROUP, False),
    "python3 -m dynamo.sglang --model m --dp-size 8": ("--data-parallel-size", 8, 1, 8, GROUP, False),
    "python3 -m dynamo.sglang --model m --tp 8 --nnodes 2": ("--tensor-parallel-size", 8, 4, 8, CLUSTER, True),
    "vllm serve m -dp 8 --data-parallel-size-local 4": ("--data-parallel-size-local", 4, 1, 4, GROUP, False),
    "vllm serve m -tp 2 -dp 4 -dpl 1": ("--tensor-parallel-size", 2, 1, 2, GROUP, False),
    "vllm serve m -tp 2 -dp 4 --data-parallel-rank 3": ("--tensor-parallel-size", 2, 1, 2, GROUP, False),
    "vllm serve m -tp 2 -dp 4 --data-parallel-hybrid-lb": ("--tensor-parallel-size", 2, 1, 2, GROUP, False),
    "vllm serve m -tp 8 --nnodes 2": ("--tensor-parallel-size", 8, 4, 8, CLUSTER, True),
    "vllm serve m -tp 8 --nnodes $N": ("--tensor-parallel-size", 8, 1, 8, CLUSTER, True),
    "vllm serve m -tp 8 --distributed-executor-backend ray": ("--tensor-parallel-size", 8, 1, 8, CLUSTER, True),
    "vllm serve m -tp 8 --distributed-executor-backend mp": ("--tensor-parallel-size", 8, 8, 8, CONTAINER, False),
    "vllm serve m -tp 8 --distributed-executor-backend external_launcher": (
        *("--tensor-parallel-size", 8, 1, 8),
        *(CLUSTER, False),
    ),
    "vllm serve m -tp 8 --config c.yaml": ("--tensor-parallel-size", 8, 1, 8, CLUSTER, False),
    "python3 -m vllm.entrypoints.openai.api_server --model m -tp 2": (
        *("--tensor-parallel-size", 2, 1, 2),
        *(GROUP, False),
    ),
    "python3 -m vllm.entrypoints.cli.main serve m -tp 2": ("--tensor-parallel-size", 2, 1, 2, GROUP, False),
    "CUDA_VISIBLE_DEVICES=0,1 vllm serve m -tp 2": ("--tensor-parallel-size", 2, 1, 2, GROUP, False),
    "numactl --cpunodebind=0 uv run vllm serve m -tp 2": ("--tensor-parallel-size", 2, 1, 2, GROUP, False),
    # SGLang
    "python3 -m sglang.launch_server --tp 4": ("--tensor-parallel-size", 4, 4, 4, CONTAINER, False),
    "sglang serve --tp-size 4 --dp 2": ("--tensor-parallel-size", 4, 8, 8, CONTAINER, False),
    "sglang serve --tp-size 4 --dp-size 4 --enable-dp-attention": ("--tensor-parallel-size", 4, 4, 4, CONTAINER, False),
    "sglang serve --tp 16 --nnodes 2": ("--tensor-parallel-size", 16, 8, 16, CLUSTER, True),
    "sglang serve --tp 16 --use-ray": ("--tensor-parallel-size", 16, 1, 16, CLUSTER, False),
    "sglang serve --pp-size 2": ("--pipeline-parallel-size", 2, 2, 2, CONTAINER, False),
}


@pytest.mark.parametrize("script", TAKES)
def test_launch_takes_gpus(script: str) -> None:
    assert brief(of_script(script)) == [TAKES[script]]


SILENT = [
    "CUDA_VISIBLE_DEVICES=",
    "torchrun train.py --nproc-per-node 4",
    "torchrun --nproc-per-node gpu t",
    "torchrun --nproc-per-node cpu t",
    "torchrun --nproc-per-node $N t",
    "torchrun --nproc-per-node 0 t",
    "torchrun --nproc-per-node 99999999 t",
    "torchrun --nproc-per-node \uff14 t",
    "torchrun --nproc-per-node",
    "torchrun --nproc-per-node 4 t --backend gloo",
    "torchrun --nproc-per-node 4 t --no_cuda",
    "torchrun --nproc-per-node 4 t --device cpu",
    "mpirun -np 8 ./solver",
    "mpirun -np $N all_reduce_perf",
    "mpirun -np 4 -x NCCL_DEBUG=INFO python t.py --device=cpu",
    "all_reduce_perf -g 8",
    "vllm serve m",
    "vllm bench m --tensor-parallel-size 4",
    "vllm",
    "vllm serve m -tp 4 --device cpu",
    "vllm serve m -dp 4 --data-parallel-size-local 0",
    "vllm serve m --data-parallel-size 4 --data-parallel-rank 1",
    "python3 -m dynamo.vllm --model m --data-parallel-size 4 --data-parallel-rank 1",
    "sglang serve --tp 4 --device=cpu",
    "sglang generate --tp 4",
    "trtllm-serve m --tp_size 4",
    "python train.py --tensor-parallel-size 4",
    "python -m train --tensor-parallel-size 4",
    "python -c 'x' --tensor-parallel-size 4",
    "python",
    "./run.sh torchrun --nproc-per-node 4 t",
    "echo torchrun --nproc-per-node 4 t",
    "pip install vllm --tensor-parallel-size 4",
    "CUDA_VISIBLE_DEVICES= torchrun --nproc-per-node 4 t",
    'export CUDA_VISIBLE_DEVICES="-1"; torchrun --nproc-per-node 4 t',
    'CUDA_VISIBLE_DEVICES="" torchrun --nproc-per-node 4 t',
    'if [ "$RANK" = 0 ]; then torchrun --nproc-per-node 4 t; fi',
    "cat <<X > run.sh\ntorchrun --nproc-per-node 4 t\nX\nbash run.sh",
]


@pytest.mark.parametrize("script", SILENT)
def test_launch_of_unknown_amount_is_silent(script: str) -> None:
    assert of_script(script) == []


VLLM = ["--model", "m", "--tensor-parallel-size", "2"]
FORMS: dict[str, tuple[dict[str, Any], list[tuple[str, tuple[str, int]]]]] = {
    "command": ({"command": ["vllm", "serve", "m", "-tp", "2"]}, [("vllm", ("command", 4))]),
    "command and args": ({"command": ["vllm", "serve"], "args": ["m", "-tp=2"]}, [("vllm", ("args", 1))]),
    "args alone": ({"args": ["vllm", "serve", "m", "-tp", "2"]}, [("vllm", ("args", 4))]),
    "options alone": ({"args": VLLM}, [("", ("args", 3))]),
    "model and options": ({"args": ["org/m", "-tp", "2"]}, [("", ("args", 2))]),
    "options of another program": ({"command": ["./server"], "args": VLLM}, []),
    "script of the image": ({"args": ["./serve.sh", *VLLM]}, []),
    "data parallel options alone": ({"args": ["m", "-dp", "4", "--pipeline-parallel-size", "2"]}, []),
    "options of a server on the CPU": ({"args": [*VLLM, "--device", "cpu"]}, []),
    "shell": ({"command": ["sh", "-c", "torchrun --nproc-per-node 2 t"]}, [("torchrun", ("command", 2))]),
    "login shell": ({"command": ["/bin/bash", "-lc"], "args": ["vllm serve m -tp 2"]}, [("vllm", ("args", 0))]),
    "shell with options": (
        {"command": ["bash", "-eo", "pipefail", "-c"], "args": ["vllm serve m -tp 2"]},
        [("vllm", ("args", 0))],
    ),
    "shell behind a wrapper": (
        {"command": ["tini", "--", "bash", "-c", "vllm serve m -tp 2"]},
        [("vllm", ("command", 4))],
    ),
    "shell in a shell": ({"args": ["bash", "-c", "bash -c 'vllm serve m -tp 2'"]}, [("vllm", ("args", 2))]),
    "continued lines": (
        {"command": ["bash", "-c"], "args": ["# serve\nexec vllm serve m \\\n  -tp 2\n"]},
        [("vllm", ("args", 0))],
    ),
    "several lines": ({"command": ["bash", "-c"], "args": ["set -e\nvllm serve m -tp 2\n"]}, []),
    "shell with a file": ({"command": ["bash", "run.sh", "-c", "torchrun --nproc-per-node 2 t"]}, []),
    "shell with a long option": ({"command": ["bash", "--rcfile", "x", "-c", "torchrun --nproc-per-node 2 t"]}, []),
    "shell without a script": ({"command": ["bash", "-c"]}, []),
    "shell with options of a server": ({"command": ["bash", "-e"], "args": ["-tp", "2"]}, []),
    "neither": ({}, []),
    "python options": ({"args": ["python3", "-X", "--", "-tp"]}, []),
    "shell behind words": ({"args": ["bash", "+x", "-c", "vllm serve m -tp 2"]}, [("vllm", ("args", 3))]),
    "words that end in cpu": ({"args": ["vllm", "serve", "gcpu", "-tp", "2"]}, [("vllm", ("args", 4))]),
    "script of Python with a shell's option": ({"args": ["python3", "t.py", "-c", "vllm serve m -tp 2"]}, []),
    "module of Python with options of a server": ({"args": ["python3", "-m", "x", "-tp", "2"]}, []),
    "assignment alone": ({"args": ["A=-tp"]}, []),
    "no words": ({"command": [], "args": None}, []),
    "marks without a program": ({"args": ["--world", "x"]}, []),
    "empty word": ({"args": ["", "-tp", "2"]}, [("", ("args", 2))]),
}


@pytest.mark.parametrize("name", FORMS)
def test_program_and_place(name: str) -> None:
    container, expected = FORMS[name]
    assert [(one.program, one.setting.place) for one in of(container)] == expected


def test_option_for_number_of_containers() -> None:
    (across,), (alone,) = map(of_script, ("torchrun --nnodes 4 --nproc-per-node 2 t", "torchrun --nproc-per-node 2 t"))
    assert across.nodes is not None
    assert across.nodes[:2] == ("--nnodes", 4)
    assert alone.nodes is None


@pytest.mark.parametrize("field", ["command", "args"])
@pytest.mark.parametrize("value", ["text", {}, [1], ["a", None]])
def test_malformed_arguments(field: str, value: object) -> None:
    with pytest.raises(MalformedError) as raised:
        of({field: value})
    assert raised.value.path[:4] == ("spec", "containers", 0, field)


def test_malformed_arguments_of_container_with_two_replicas_are_reported() -> None:
    """GPS020 and GPS021 read what the container launches."""
    train = {"name": "train", "args": [5], "resources": {"limits": {"nvidia.com/gpu": 2}}}
    with pytest.raises(MalformedError) as raised:
        OfflineEvaluator.of(Settings()).evaluate(
            {"spec": {"containers": [train]}}, "", "Pod", RequestContext("default")
        )
    assert raised.value.path == ("spec", "containers", 0, "args", 0)


def test_arguments_beyond_limit_launch_nothing() -> None:
    script = "torchrun --nproc-per-node 2 t"
    assert len(of_script(script + " " * (LIMIT - len(script) - len("bash-c") - 3))) == 1
    assert of_script(script + " " * LIMIT) == []
    words = ["torchrun", "--nproc-per-node", "2", "t"]
    assert len(of({"args": [*words, *["x"] * (LIMIT // 2 - 20)]})) == 1
    assert of({"args": [*words, *["x"] * (LIMIT // 2)]}) == []  # the space after each word counts


@pytest.mark.parametrize(
    ("script", "words"),
    [
        ("""a'b c'"d e"f""", ["ab cd ef"]),
        (r"""a\ b "c\"d" 'g\h' """, ["a b", 'c"d', r"g\h"]),
        ("a \\\n  b\\\nc", ["a", "bc"]),
        ("# one\n\n a b\r\n", ["a", "b"]),
        ('a $B "$C" "$(d e)"', ["a", "$B", "$C", "$(d e)"]),
        ("a $(b)", []),
        ("a; b", []),
        ("a && b", []),
        ("a | b", []),
        ("a &", []),
        ("a > b", []),
        ("a\nb", []),
        ("a # b", []),
        ("a 'b", []),
        ("", []),
    ],
)
def test_words_of_one_command(script: str, words: list[str]) -> None:
    assert one_command(script) == words


PIECES = st.sampled_from(
    [
        *("torchrun", "--nproc-per-node", "vllm", "serve", "-tp", "4", "$(N)", "bash", "-c", "mpirun", "-np", "2"),
        *("all_reduce_perf", "-g", "python", "-m", "sglang.launch_server"),
        *("torchrun --nproc-per-node 4 t", "=", "-", "--", "", "--tp=", "CUDA_VISIBLE_DEVICES="),
    ]
)


@given(st.lists(PIECES | st.text(max_size=5), max_size=12), st.lists(PIECES | st.text(max_size=5), max_size=12))
def test_any_command_line_is_read(command: list[str], args: list[str]) -> None:
    for found in of({"command": command, "args": args}):
        assert 1 <= found.each <= found.total
        assert found.setting.value >= 1
        name, index = found.setting.place
        assert isinstance(index, int)
        assert index < len({"command": command, "args": args}[str(name)])


UNITS = [
    *("-tp ", "vllm ", "a;", "torchrun -a;", "mpirun ", "bash -c 'vllm' ", "gloo ", "CUDA_VISIBLE_DEVICES=0 "),
    "-x NCCL_A",
]


@pytest.mark.slow
@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("form", ["script", "words", "short words"])
def test_work_is_linear(unit: str, form: str) -> None:
    def prepared(size: int) -> Any:
        if form == "script":
            container = {"command": ["bash", "-c", "mpirun;" + unit * size]}
        else:
            words = unit.split() if form == "words" else list(unit)
            container = {"args": ["mpirun", *(words * size)]}
        return lambda: of(container)

    assert_linear(prepared, 64, 2048)
