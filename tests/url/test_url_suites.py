"""The public suites: WHATWG's URL cases and the Public Suffix List's own."""

import json
from pathlib import Path

import pytest

from periplus.url import UrlParts, parse_url, registered_domain

SUITES = Path(__file__).parents[3] / "shared" / "data" / "suites"
pytestmark = pytest.mark.data


def suite(name: str) -> Path:
    path = SUITES / name
    if not path.exists():
        pytest.skip(f"needs ../shared/data/suites/{name}")
    return path


def test_every_case_of_the_url_standard() -> None:
    cases = [case for case in json.loads(suite("url/urltestdata.json").read_text("utf-8")) if isinstance(case, dict)]
    wrong = [case["input"] for case in cases if not agrees(case)]
    assert len(cases) > 800
    assert wrong == []


def agrees(case: dict[str, str]) -> bool:
    found = parse_url(case["input"], case.get("base"))
    if case.get("failure"):
        return found is None
    return found is not None and all(getattr(found, name) == case[name] for name in UrlParts._fields if name in case)


@pytest.mark.parametrize("name", ["url/toascii.json", "url/IdnaTestV2.json"])
def test_international_host_names(name: str) -> None:
    cases = [case for case in json.loads(suite(name).read_text("utf-8")) if isinstance(case, dict) and case["input"]]
    wrong = []
    for case in cases:
        found = parse_url(f"https://{case['input']}/x")
        if (found.host if found else None) != case["output"]:
            wrong.append(case["input"])
    assert len(cases) > 60
    assert wrong == []


def test_every_case_of_the_public_suffix_list() -> None:
    wrong = []
    count = 0
    for line in suite("publicsuffix/tests.txt").read_text("utf-8").splitlines():
        words = line.split()
        if len(words) != 2 or line.startswith("//") or words[0] == "null":
            continue
        host, expected = words
        count += 1
        if registered_domain(host) != (host.lower() if expected == "null" else expected):
            wrong.append((host, expected, registered_domain(host)))
    assert count > 70
    assert wrong == []
