"""How the values of an MPS client's limits are parsed and normalised."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from webhook.policy.pods.client_limits import ANNOTATIONS, VARIABLES, MemoryLimit, memory, percentage

THREADS = "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE"
MEMORY = "CUDA_MPS_PINNED_DEVICE_MEM_LIMIT"
PRIORITY = "CUDA_MPS_CLIENT_PRIORITY"
PARTITIONING = "CUDA_MPS_ENABLE_PER_CTX_DEVICE_MULTIPROCESSOR_PARTITIONING"
CONNECTIONS = "CUDA_DEVICE_MAX_CONNECTIONS"

GOOD = {
    THREADS: ["1", "50", "100", "12.5", "0.5", "100.0", "050"],
    MEMORY: ["0=4G", "0=4GB", "1=512M", "0=4G,1=512M", "63=1G"],
    PRIORITY: ["0", "1"],
    PARTITIONING: ["0", "1"],
    CONNECTIONS: ["1", "2", "32", "08"],
}

ARABIC_FIVE = "\u0665"

WRONG = {
    THREADS: [
        *["", "0", "0.0", "-1", "+5", "101", "100.1", "1e1", "50%", "fifty", "1.", ".5", ARABIC_FIVE, " 50", "50\n"],
    ],
    MEMORY: [
        *["", "4", "4G", "0=4", "0=1K", "0=4GiB", "0=4T", "0=-4G", "0=0M", "a=4G", "64=1G", "0=4G,"],
        *["0=4G;1=1G", "0=4G,0=2G", "4G,0=2G", "0=1.5G", "0=9999999999G", f"0={ARABIC_FIVE}G"],
        *["0 = 4G", " 0=4G", "0=4G ", "0=4G, 1=2G"],
        *["0=1G\n", "\n0=1G", "0=1G,\n1=1G", "0=1G\r\n", "0=1G\t", "0=1G\u2028", "0=1G\xa0"],
    ],
    PRIORITY: ["", "2", "-1", "high", "00", "1.0", "1\n"],
    PARTITIONING: ["", "2", "true", "yes"],
    CONNECTIONS: ["", "0", "33", "-1", "1.0", "100", "two", "²", ARABIC_FIVE],
}


def pairs(values: dict[str, list[str]]) -> list[tuple[str, str]]:
    return [(variable, text) for variable, texts in values.items() for text in texts]


@pytest.mark.parametrize(("variable", "text"), pairs(GOOD))
def test_valid_value_is_parsed(variable: str, text: str) -> None:
    assert VARIABLES[variable](text) is not None


@pytest.mark.parametrize(("variable", "text"), pairs(WRONG))
def test_invalid_value_is_rejected(variable: str, text: str) -> None:
    with pytest.raises(ValueError, match=r"\w"):
        VARIABLES[variable](text)


@given(st.sampled_from(sorted(VARIABLES)), st.text(max_size=20) | st.text("0123456789=.,KMG ", max_size=12))
def test_any_value_is_parsed_or_rejected_with_known_message(variable: str, text: str) -> None:
    said = refusal(variable, text)
    assert said is None or (said.isascii() and "int()" not in said and "float" not in said)


def refusal(variable: str, text: str) -> str | None:
    try:
        VARIABLES[variable](text)
    except ValueError as error:
        return str(error)
    return None


@pytest.mark.parametrize(
    ("suffix", "text", "written"),
    [
        ("active-thread-percentage", "050.50", "50.5"),
        ("active-thread-percentage", "100", "100"),
        ("active-thread-percentage", "33.333333", "33.333333"),
        ("active-thread-percentage", "0.000001", "0.000001"),
        ("pinned-device-memory-limit", "4GB", "0=4G"),
        ("pinned-device-memory-limit", " 4G, 1=2G ", "0=4G,1=2G"),
        ("pinned-device-memory-limit", "1=0512M,0=4G", "1=512M,0=4G"),
        ("client-priority", "1", "1"),
    ],
)
def test_annotation_value_is_normalised(suffix: str, text: str, written: str) -> None:
    annotation = next(one for one in ANNOTATIONS if one.key == f"gpushare-webhook/{suffix}")
    assert annotation.write(text) == written


values = st.text("0123456789=.,KMGB ", max_size=12) | st.decimals(0, 100, places=6).map(str)


@given(st.sampled_from(ANNOTATIONS), values)
def test_normalised_value_is_one_of_the_variable(annotation: object, text: str) -> None:
    assert isinstance(annotation, type(ANNOTATIONS[0]))
    try:
        written = annotation.write(text)
    except ValueError:
        return
    assert VARIABLES[annotation.variable](written) is not None
    assert annotation.write(written) == written


def test_memory_limit_in_mebibytes() -> None:
    assert [limit.mebibytes for limit in memory("0=4G,1=512M")] == [4096, 512]
    assert memory("0=4G") == (MemoryLimit(0, 4, "G"),)


def test_percentage_is_a_number() -> None:
    assert percentage("12.5") == 12.5
