"""What `periplus site init`, `join`, `invite`, `revoke`, `status` and `leave` do."""

import contextlib
import secrets
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import msgspec

from periplus.app.observer import SILENT, Observer
from periplus.app.sites.site_links import start_nats, write_config
from periplus.errors import BadInput, NothingHere, SiteRefused, SiteUnreachable
from periplus.files import lock_folder, open_data_folder
from periplus.settings import Settings, SiteSettings

if TYPE_CHECKING:
    from periplus.sites import Place, SiteStatus, SiteTopology

__all__ = [
    "NewSite",
    "SiteReport",
    "invite_site",
    "join_sites",
    "leave_sites",
    "make_site",
    "revoke_token",
    "site_report",
]

_JOIN_SECONDS: Final = 30.0
_LEAVE_SECONDS: Final = 10.0
_STALE: Final = 5.0
"""Heartbeats after which a status is out of date: the site does not run."""


class NewSite(NamedTuple):
    """A site that was made."""

    name: str
    network: str
    sites: tuple[str, ...]
    token: str
    """With which others can join; '' if they cannot reach this site."""


class SiteReport(NamedTuple):
    """What `periplus site status` shows."""

    topology: "SiteTopology"
    name: str
    status: "SiteStatus | None"
    """None if the site has never run."""
    running: bool


def _place(settings: SiteSettings) -> "Place | None":
    from periplus.sites import Place

    if not settings.place:
        return None
    if len(settings.place) != 2:
        raise BadInput("A place is a latitude and a longitude.", "For example: --place 47.4,8.5")
    return Place(*settings.place)


def _new_config(name: str, settings: SiteSettings) -> Any:
    from periplus.sites import SiteConfig, free_tcp_port

    _, _, port = settings.address.rpartition(":")
    return SiteConfig(
        name=name,
        client_port=free_tcp_port(),
        leaf_host=settings.listen,
        leaf_port=int(port) if port else 0,
    )


def make_site(folder: Path, name: str, settings: Settings) -> NewSite:
    """Make a data folder the first site of a new federation; raise `BadInput` if it is a site already."""
    from periplus.sites import SiteFolder, SiteTopology, new_site_record

    site = SiteFolder(open_data_folder(folder, create=True))
    with lock_folder(folder, "site", "making a site"):
        if site.exists:
            raise BadInput(f"{folder} is the site {site.config().name} already.", "See: periplus site status.")
        own = settings.site
        record = new_site_record(site.make_key(), name, _place(own), own.languages, own.address)
        topology = SiteTopology(network=secrets.token_hex(8), sites=(record,))
        site.create(_new_config(name, own), topology)
        site.complete_passwords(topology)
        return NewSite(name, topology.network, topology.names, site.token() if own.address else "")


def invite_site(folder: Path, days: float | None = None) -> str:
    """Return the token with which other sites can join; with `days`, a new one that is valid for so long."""
    from periplus.sites import SiteFolder

    return SiteFolder(folder).token(days)


def revoke_token(folder: Path) -> bool:
    """Revoke the token that was issued last, so that nobody joins with it; return whether it was valid until now."""
    from periplus.sites import SiteFolder

    return SiteFolder(folder).revoke_token()


def join_sites(folder: Path, token: str, name: str, settings: Settings, observer: Observer = SILENT) -> NewSite:
    """Make a data folder a site of the federation that has issued a token.

    Raise `SiteUnreachable` if the site of the token does not answer, `BadInput` if it refuses.
    """
    from periplus.sites import (
        JoinAccess,
        NatsTransport,
        SiteFolder,
        SiteTopology,
        decode_site_topology,
        decode_token,
        fetch_certificate,
        new_site_record,
        verify_record,
    )

    invitation = decode_token(token)
    site = SiteFolder(open_data_folder(folder, create=True))
    with lock_folder(folder, "site", "joining"):
        if site.exists:
            raise BadInput(f"{folder} is the site {site.config().name} already.", "See: periplus site status.")
        own = settings.site
        record = new_site_record(site.make_key(), name, _place(own), own.languages, own.address)
        certificate = fetch_certificate(invitation.address, invitation.fingerprint)
        alone = SiteTopology(network=invitation.network, sites=(record,))
        site.create(_new_config(name, own), alone)
        try:
            access = JoinAccess(invitation.address, invitation.secret, certificate)
            config = write_config(site, settings.site, joining=access)
            observer.message(f"Asking {invitation.site} at {invitation.address}.")
            with start_nats(site, settings.site):
                url = f"nats://127.0.0.1:{config.client_port}"
                transport = NatsTransport(name, url, config.passwords, (), 1 << 20)
                try:
                    answer = transport.request_join(invitation.site, msgspec.json.encode(record), _JOIN_SECONDS)
                except SiteRefused:
                    raise
                except SiteUnreachable as error:
                    expired = 0 < invitation.expires < time.time()
                    problem = "The token has expired." if expired else f"{error} The token may have been revoked."
                    raise SiteUnreachable(problem, "Ask for a new one: periplus site invite.") from error
                finally:
                    transport.close()
            topology = decode_site_topology(answer, "The answer of the site")
            faults = [other.name for other in topology.sites if not verify_record(other)]
            inviter = topology.site(invitation.site)
            if faults or topology.network != invitation.network or inviter.certificate.strip() != certificate.strip():
                raise SiteUnreachable(f"What {invitation.site} answers is not its federation.", "Ask for a new token.")
            site.create(site.config(), topology)
            site.complete_passwords(topology)
        except BaseException:
            site.remove()
            raise
        return NewSite(name, topology.network, topology.names, site.token() if own.address else "")


def site_report(folder: Path, settings: Settings) -> SiteReport:
    """Return the state of a site, whether it runs or not."""
    from periplus.sites import SiteFolder, read_site_status

    site = SiteFolder(folder)
    config, status = site.config(), read_site_status(site.path)
    age = abs(time.time() - status.time) if status is not None else 1e9
    return SiteReport(site.topology(), config.name, status, age < _STALE * settings.site.heartbeat_seconds + 1)


def leave_sites(folder: Path, settings: Settings, observer: Observer = SILENT) -> tuple[str, ...]:
    """Leave the federation: tell all sites that can be reached, and make the folder an ordinary one.

    Return the names of the sites that were told. The site must not run. Pages and index stay.
    """
    from periplus.index import store_build_statistics
    from periplus.sites import NatsTransport, SiteFolder, encode_site_topology

    site = SiteFolder(folder)
    config = site.config()
    with lock_folder(folder, "site", "leaving the federation"):
        others = [other.name for other in site.topology().others(config.name)]
        site.update_own(left=True)
        told: list[str] = []
        if others:
            config = write_config(site, settings.site)
            body = encode_site_topology(site.topology())
            with start_nats(site, settings.site):
                url = settings.site.nats_url or f"nats://127.0.0.1:{config.client_port}"
                transport = NatsTransport(config.name, url, config.passwords, others, 1 << 20)
                limit = time.monotonic() + _LEAVE_SECONDS
                try:
                    while time.monotonic() < limit and len(told) < len(others):
                        for name in others:
                            if name not in told:
                                with contextlib.suppress(SiteUnreachable):
                                    transport.request(name, "leave", body, 2.0)
                                    told.append(name)
                        time.sleep(0.1)
                finally:
                    transport.close()
        site.remove()
        store_build_statistics(folder / "index", None, append=False)  # From now on, the index is all of the collection.
    if len(told) < len(others):
        missing = ", ".join(sorted(set(others) - set(told)))
        observer.message(f"Not told, since they do not answer: {missing}. They learn it from the others.")
    return tuple(told)


def require_site(folder: Path) -> None:
    """Raise `NothingHere` if a data folder is not a site."""
    from periplus.sites import SiteFolder

    if not SiteFolder(folder).exists:
        raise NothingHere(
            f"{folder} is not a site.", "Make one: periplus site init, or periplus site join --name NAME."
        )
