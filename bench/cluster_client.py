"""Asks queries of a cluster and publishes pages while parts of it are killed: for cluster_kills.py."""

import contextlib
import json
import random
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
from collections import Counter
from typing import Any

from periplus.app import ClusterSession
from periplus.errors import PeriplusError

WORD = "zweiundvierzig"
PAUSE = 0.5
"""Seconds between two publications."""
WITHDRAWN = 4
"""Of so many publications, one is withdrawn again."""
FOUND_SECONDS = 60.0
"""Within which a publication has to be found, when nothing is killed any more."""


class Client:
    """Somebody who knows the addresses of the brokers, and asks for them again when none answers."""

    def __init__(self, session: ClusterSession, key: str, queries: list[str], seed: int) -> None:
        self._session, self._key, self._queries = session, key, queries
        self._seed = seed
        self.stopped = threading.Event()
        self.answers: Counter[str] = Counter()
        self.wrong: list[dict[str, Any]] = []
        self.expected: dict[str, list[str]] = {}
        self.published: dict[str, str] = {}
        """The words of acknowledged publications, and the ids of their pages."""
        self.withdrawn: set[str] = set()
        """Words of pages whose withdrawal was acknowledged."""
        self.uncertain: set[str] = set()
        """Words of pages whose withdrawal was not acknowledged: they may be found or not."""
        self.attempts: Counter[str] = Counter()
        self.refusals: Counter[str] = Counter()
        self._urls = session.broker_urls()
        self._number = 0

    def follow(self) -> None:
        """Ask for the addresses of the brokers."""
        with contextlib.suppress(PeriplusError):
            self._urls = self._session.broker_urls() or self._urls

    def search(self, words: str, seconds: float = 10.0, only: str = "") -> dict[str, Any]:
        """Return the answer of a broker; raise `OSError` if none answers."""
        for url in [only] if only else random.sample(self._urls, len(self._urls)):
            with contextlib.suppress(OSError):
                address = f"{url.rstrip('/')}/api/search?{urllib.parse.urlencode({'q': words, 'count': 10})}"
                with urllib.request.urlopen(address, timeout=seconds) as response:
                    answer: dict[str, Any] = json.loads(response.read())
                    return answer
        raise OSError("no broker answers")

    def learn(self) -> None:
        """Note the answers of the whole cluster."""
        for words in self._queries:
            answer = self.search(words)
            if missing_shards(answer) or answer.get("partial"):
                raise SystemExit("The cluster is not complete before the kills.")
            self.expected[words] = [result["url"] for result in answer["results"]]

    def ask(self) -> None:
        """Ask queries until stopped, and compare the answers with those of the whole cluster."""
        while not self.stopped.is_set():
            words = random.choice(self._queries)
            began = time.monotonic()
            try:
                answer = self.search(words)
            except OSError:
                self.answers["none"] += 1
                self.follow()
                time.sleep(0.2)
                continue
            urls = [result["url"] for result in answer["results"]]
            if missing_shards(answer) or answer.get("partial"):
                self.answers["partial"] += 1
            elif urls == self.expected[words]:
                self.answers["right"] += 1
            else:
                self.answers["wrong"] += 1
                seconds = round(time.monotonic() - began, 2)
                self.wrong.append(
                    {"words": words, "seconds": seconds, "expected": self.expected[words], "answer": answer}
                )
                print(f"  WRONG: {words!r} after {seconds} s: {urls} instead of {self.expected[words]}", flush=True)
            time.sleep(0.02)

    def compare_brokers(self) -> int:
        """Return how many queries two brokers answer differently, or in part, while nothing is killed."""
        differences = 0
        self.follow()
        for words in self._queries:
            answers = [self.search(words, only=url) for url in self._urls]
            lists = [[result["url"] for result in answer["results"]] for answer in answers]
            missing = [missing_shards(answer) for answer in answers]
            if any(missing) or any(other != lists[0] for other in lists):
                differences += 1
                print(f"  brokers differ: {words!r}: {lists}, missing {missing}", flush=True)
        return differences

    def publish(self) -> None:
        """Publish pages until stopped, and withdraw some; note what was acknowledged."""
        while not self.stopped.is_set():
            self._number += 1
            word = f"{WORD}{self._seed:02d}{self._number:05d}"
            body = {
                "title": f"Publication {word}",
                "content": f"The word {word} is here only.",
                "url": f"https://p{self._number}.example/",
            }
            receipt = self._request("POST", "/api/publish", body)
            if receipt is not None:
                self.published[word] = str(receipt["key"])
                if self._number % WITHDRAWN == 0:
                    self._withdraw()
            time.sleep(PAUSE)

    def _withdraw(self) -> None:
        """Withdraw a page that was published some time ago."""
        words = [word for word in self.published if word not in self.withdrawn | self.uncertain][:-2]
        if words:
            word = random.choice(words)
            is_done = self._request("DELETE", f"/api/publish/{self.published[word]}") is not None
            (self.withdrawn if is_done else self.uncertain).add(word)

    def _request(self, method: str, path: str, body: dict[str, Any] | None = None) -> dict[str, Any] | None:
        """Send a request to a broker; return its answer, None if it was refused or there was none."""
        self.attempts[method] += 1
        request = urllib.request.Request(
            f"{random.choice(self._urls).rstrip('/')}{path}",
            json.dumps(body).encode() if body is not None else None,
            {"Content-Type": "application/json", "Authorization": f"Bearer {self._key}"},
            method=method,
        )
        try:
            with urllib.request.urlopen(request, timeout=15) as response:
                answer: dict[str, Any] = json.loads(response.read())
                return answer
        except urllib.error.HTTPError as error:
            self.refusals[f"{method}: {error.code} {error.read()[:160].decode('utf-8', 'replace')}"] += 1
        except OSError as error:
            self.refusals[f"{method}: {str(error)[:100]}"] += 1
        self.follow()
        return None

    def check_publications(self) -> dict[str, int]:
        """Return how many acknowledged publications are not found, are found twice, or are found though withdrawn."""
        lost = twice = undead = 0
        self.follow()
        for word in self.published:
            if word in self.uncertain:
                continue
            limit = time.monotonic() + FOUND_SECONDS
            while True:
                answer = self.search(word)
                count = sum(word in result["title"] for result in answer["results"])
                is_right = count == (word not in self.withdrawn) and not missing_shards(answer)
                if is_right or time.monotonic() > limit:
                    break
                time.sleep(0.5)
            if not is_right:
                print(f"  {word}: found {count} times, withdrawn {word in self.withdrawn}", flush=True)
            lost += not count and word not in self.withdrawn
            twice += count > 1
            undead += bool(count) and word in self.withdrawn
        return {"publications_lost": lost, "publications_twice": twice, "withdrawals_lost": undead}


def missing_shards(answer: dict[str, Any]) -> list[int]:
    """Return the shards that did not answer, as the answer says."""
    return list(answer.get("shards", {}).get("missing", ()))
