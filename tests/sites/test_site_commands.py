"""Making, joining and leaving a federation, with real NATS servers."""

import socket
import ssl
import threading
import time
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from periplus.app import invite_site, join_sites, leave_sites, make_site, revoke_token, site_report
from periplus.app.sites import site_commands
from periplus.app.sites.site_links import start_nats, write_config
from periplus.errors import BadInput, NothingHere, SiteUnreachable
from periplus.settings import Settings, SiteSettings
from periplus.sites import NatsTransport, SiteFolder, SiteNode, SiteRecord, decode_token, free_tcp_port

pytestmark = pytest.mark.xdist_group("nats")


def _settings(folder: Path, address: str = "") -> Settings:
    site = SiteSettings(address=address, listen="127.0.0.1", heartbeat_seconds=0.2, place=(47.4, 8.5))
    return Settings(folder=str(folder), site=site)


def _wait(condition: Callable[[], bool], seconds: float = 30.0) -> None:
    limit = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < limit, "it did not happen"
        time.sleep(0.02)


class _Running:
    """A site that runs without crawl, index and search page."""

    def __init__(self, folder: Path, settings: Settings) -> None:
        self._site, self._settings = SiteFolder(folder), settings
        config = write_config(self._site, settings.site)
        self._nats = start_nats(self._site, settings.site)
        self._server = self._nats.__enter__()
        peers = [other.name for other in self._site.topology().others(config.name)]
        url = f"nats://127.0.0.1:{config.client_port}"
        self.transport = NatsTransport(config.name, url, config.passwords, peers, 1 << 20)
        self.node = SiteNode(self._site, self.transport, settings.site, {}, on_topology=lambda topology: self.relink())
        self.transport.serve_join(lambda body: self.node.accept_join(msgspec.json.decode(body, type=SiteRecord)))
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self.node.run, args=(self._stopped,))
        self._thread.start()

    def relink(self) -> None:
        threading.Timer(0.3, self._link).start()

    def _link(self) -> None:
        config = write_config(self._site, self._settings.site)
        assert self._server is not None
        self._server.restart()
        others = self.node.topology.others(config.name)
        self.transport.set_peers([other.name for other in others], config.passwords)

    def close(self) -> None:
        self._stopped.set()
        self._thread.join()
        self.node.close()
        self.transport.close()
        self._nats.__exit__(None, None, None)


def _alive_peers(folder: Path, settings: Settings) -> list[str]:
    report = site_report(folder, settings)
    assert report.status is None or report.running
    return sorted(peer.name for peer in report.status.peers if peer.alive) if report.status else []


def _refuse_revoked_token(folder: Path, running: _Running, token: str) -> None:
    """Revoke the token of a site that runs: nobody joins with it, and strangers fail at the TLS handshake."""
    address = decode_token(token).address
    _wait(lambda: _shake_hands(address))  # It is restarted for the site that has just joined.
    assert revoke_token(folder / "zurich")
    assert not revoke_token(folder / "zurich")
    running._link()
    _wait(lambda: not _shake_hands(address))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(site_commands, "_JOIN_SECONDS", 1.0)
        with pytest.raises(SiteUnreachable, match="revoked"):
            join_sites(folder / "late", token, "late", _settings(folder / "late"))
    assert not SiteFolder(folder / "late").exists


def _shake_hands(address: str) -> bool:
    """Return whether a stranger without a certificate can speak to a site."""
    host, _, port = address.rpartition(":")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    try:
        with socket.create_connection((host, int(port)), 5) as plain:
            while plain.recv(1) != b"\n":
                pass
            with context.wrap_socket(plain) as channel:
                channel.settimeout(0.5)
                try:
                    return channel.recv(1) != b""
                except TimeoutError:
                    return True  # The server waits for what the stranger has to say.
    except OSError:
        return False


def test_tokens_expire_and_new_ones_replace_them(tmp_path: Path) -> None:
    pytest.importorskip("cryptography")
    settings = _settings(tmp_path / "zurich", "127.0.0.1:7422")
    made = make_site(tmp_path / "zurich", "zurich", settings)
    site = SiteFolder(tmp_path / "zurich")
    token = decode_token(made.token)
    assert token.expires == site.config().join_expires
    assert site.config().open_secret(token.expires - 1) == token.secret
    assert not site.config().open_secret(token.expires)
    assert invite_site(tmp_path / "zurich") == made.token
    newer = decode_token(invite_site(tmp_path / "zurich", 1.0))
    assert newer.secret != token.secret
    assert newer.expires < token.expires
    site.save_config(msgspec.structs.replace(site.config(), join_expires=time.time() - 1))
    write_config(site, settings.site)
    assert newer.secret not in (site.path / "nats.json").read_text()
    assert decode_token(invite_site(tmp_path / "zurich")).secret != newer.secret


def test_three_sites_join_see_each_other_and_one_leaves(tmp_path: Path) -> None:
    pytest.importorskip("nats")
    addresses = {name: f"127.0.0.1:{free_tcp_port()}" for name in ("zurich", "tokyo")} | {"lima": ""}
    settings = {name: _settings(tmp_path / name, address) for name, address in addresses.items()}
    made = make_site(tmp_path / "zurich", "zurich", settings["zurich"])
    assert made.sites == ("zurich",)
    assert invite_site(tmp_path / "zurich") == made.token
    with pytest.raises(BadInput, match="already"):
        make_site(tmp_path / "zurich", "other", settings["zurich"])
    with pytest.raises(SiteUnreachable, match="No site answers"):
        join_sites(tmp_path / "tokyo", made.token, "tokyo", settings["tokyo"])
    running = [_Running(tmp_path / "zurich", settings["zurich"])]
    try:
        assert join_sites(tmp_path / "tokyo", made.token, "tokyo", settings["tokyo"]).sites == ("tokyo", "zurich")
        with pytest.raises(SiteUnreachable, match="already"):
            join_sites(tmp_path / "double", made.token, "zurich", settings["tokyo"])
        _refuse_revoked_token(tmp_path, running[0], made.token)
        assert not SiteFolder(tmp_path / "double").exists
        running.append(_Running(tmp_path / "tokyo", settings["tokyo"]))
        _wait(lambda: "tokyo" in running[0].node.alive() and "zurich" in running[1].node.alive())
        join_sites(tmp_path / "lima", invite_site(tmp_path / "tokyo"), "lima", settings["lima"])
        running.append(_Running(tmp_path / "lima", settings["lima"]))
        for site in running:
            _wait(lambda site=site: len(site.node.alive()) == 2)  # type: ignore[misc]
        _wait(lambda: _alive_peers(tmp_path / "lima", settings["lima"]) == ["tokyo", "zurich"])
        running.pop().close()
        assert sorted(leave_sites(tmp_path / "lima", settings["lima"])) == ["tokyo", "zurich"]
        _wait(lambda: all("lima" not in site.node.topology.names for site in running))
    finally:
        for site in running:
            site.close()
    with pytest.raises(NothingHere, match="not a site"):
        site_report(tmp_path / "lima", settings["lima"])
