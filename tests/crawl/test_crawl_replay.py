"""A crawl in the hands of other tools: pywb, in an environment of its own, replays it and agrees on the keys."""

import gzip
import json
import subprocess
import sys
import urllib.error
import urllib.request
from pathlib import Path

import msgspec
import pytest

from periplus.app import index_archive, run_crawl
from periplus.settings import StoreSettings
from periplus.store.warc.surt import sort_key

PYWB = Path(sys.prefix) / "pywb" / "bin" / "python"
needs_pywb = pytest.mark.skipif(not PYWB.exists(), reason="pywb is not installed: make setup (scripts/install-pywb)")

SERVER = """
from gevent.monkey import patch_all; patch_all()
import sys
from gevent.pywsgi import WSGIServer
from pywb.apps.frontendapp import FrontEndApp
app = FrontEndApp(config_file=sys.argv[1])
server = WSGIServer(("127.0.0.1", 0), app, log=None)
server.start()
print(server.server_port, flush=True)
server.serve_forever()
"""


def replayed(port: int, url: str) -> tuple[int, bytes]:
    """Return the status and body that pywb replays, not rewritten."""
    opener = urllib.request.build_opener(KeepRedirects)
    try:
        with opener.open(f"http://127.0.0.1:{port}/crawl/2030id_/{url}", timeout=60) as response:
            body = response.read()
            return response.status, gzip.decompress(body) if body[:2] == b"\x1f\x8b" else body
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read()


class KeepRedirects(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *words):
        return None


@needs_pywb
def test_pywb_replays_a_crawl(scripted, tmp_path):
    bodies = {
        "http://a.test/": b'<title>Home</title><a href="/b?y=2&x=1">b</a> <a href="/moved">m</a> <a href="/gone">g</a>',
        "http://a.test/b?y=2&x=1": b"<title>B</title><p>" + b"The tide table of the old harbour. " * 30,
    }
    for url, body in bodies.items():
        scripted.put(url, body)
    packed = "http://a.test/packed"
    scripted.put(packed, gzip.compress(b"<title>Packed</title><p>Sent compressed."), Content_Encoding="gzip")
    scripted.put("http://a.test/moved", "", status=301, Location="/packed")
    scripted.put("http://a.test/gone", "<title>Sorry</title>It is gone.", status=410)
    settings = msgspec.structs.replace(
        scripted.settings(tmp_path, "a.test"),
        store=StoreSettings(warc="gzip", requests=True, errors=True, cdxj=True),
    )
    data = tmp_path / "data"
    run_crawl(data, settings, ["http://a.test/"])
    index = data / "store" / "index.cdxj"
    assert index_archive(data).records == len(index.read_text().splitlines()) == 5
    config = tmp_path / "config.yaml"
    config.write_text(f"collections:\n  crawl:\n    index: {index}\n    archive_paths: {data}/store/\n")
    with subprocess.Popen(
        [PYWB, "-c", SERVER, config], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, cwd=tmp_path, text=True
    ) as pywb:
        try:
            assert pywb.stdout is not None
            port = int(pywb.stdout.readline())
            for url, body in bodies.items():
                assert replayed(port, url) == (200, body)
            assert replayed(port, packed) == (200, b"<title>Packed</title><p>Sent compressed.")
            assert replayed(port, "http://a.test/moved")[0] in (301, 302, 307)
            assert replayed(port, "http://a.test/gone") == (410, b"<title>Sorry</title>It is gone.")
            assert replayed(port, "http://a.test/never")[0] == 404
        finally:
            pywb.kill()


@needs_pywb
def test_keys_equal_those_of_the_tools():
    paths = [
        "",
        "a/b/",
        "A//b",
        "%7Ea",
        "%25%32%35",
        "é",
        "a;b=c",
        "a%20b",
        "index.html",
        "a%2Fb",
        "a+b",
        "(x)",
        "~a!$",
    ]
    queries = [
        "",
        "?",
        "?x",
        "?b=2&a=1",
        "?B=1&a",
        "?q=%C3%A9+b",
        "?a=1&sid=0123456789abcdef0123456789abcdef",
        "?a=/&=",
    ]
    hosts = ["example.org", "www.example.org", "www3.a.example.org:8080", "127.0.0.1:5000", "wwww.example.org"]
    urls = [f"http://{host}/{path}{query}" for host in hosts for path in paths for query in queries]
    program = "import json, sys\nfrom surt import surt\nprint(json.dumps([surt(u) for u in json.load(sys.stdin)]))"
    run = subprocess.run([PYWB, "-c", program], input=json.dumps(urls), capture_output=True, text=True, check=True)
    theirs = dict(zip(urls, json.loads(run.stdout), strict=True))
    assert {url: sort_key(url) for url in urls} == theirs
