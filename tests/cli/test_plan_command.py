"""`periplus plan` prints machines and sources, JSON for programs, and one line for bad input."""

import json

import pytest

from periplus.cli import main

ARGUMENTS = ["plan", "--pages", "1e9", "--queries-per-second", "100", "--change-per-day", "5%"]


def test_a_plan_is_printed_with_its_sources(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*ARGUMENTS, "--sources"]) == 0
    output = capsys.readouterr().out
    for word in ("crawl", "build", "serving", "brokers", "limited by", "what breaks first", "assumed"):
        assert word in output
    assert "pagerank.json figures.growth.sizes.2.ns_per_link_and_round" in output


def test_json_has_every_field(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*ARGUMENTS, "--json", "--cores", "32", "--memory", "256GB"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert record["machine"] == {"cores": 32, "memory": 256e9, "disk": 4e12, "bandwidth": 10e9}
    assert [role["role"] for role in record["roles"]] == ["crawl", "build", "serving", "brokers"]
    assert {"file", "field", "date", "value"} <= set(record["coefficients"][0])


@pytest.mark.parametrize(
    ("flag", "text"), [("--pages", "lots"), ("--change-per-day", "5 percent"), ("--memory", "64"), ("--replicas", "0")]
)
def test_bad_input_gets_one_line(flag: str, text: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*ARGUMENTS, flag, text]) == 1
    error = capsys.readouterr().err
    assert error.startswith("periplus: ")
    assert error.count("\n") == 1
