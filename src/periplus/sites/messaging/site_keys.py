"""The key of a site: it signs records and batches, and its certificate opens the link between NATS servers.

One Ed25519 key does both. The certificate is signed by the key itself, and other sites trust exactly the certificates
in the topology: there is no authority. Needs the extra `sites`.
"""

import contextlib
import datetime
import ipaddress
import os
import secrets
import stat
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgspec

from periplus.errors import BadFile, MissingPart
from periplus.files import disk_errors, make_folder, sync_folder
from periplus.sites.site_topology import SiteRecord

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

__all__ = ["SiteKey", "is_signed_by", "make_site_key", "read_site_key", "sign_record", "verify_record"]

_YEARS: Final = 30
_MAX_FILE: Final = 4_096
_DOMAIN: Final = b"\xffperiplus site 1 "
"""Precedes everything that is signed, with its purpose: what is signed for one purpose is refused for another.

A NATS server signs, with the same key, whatever text the server at the other end of a link sends as a nonce. No text
has this first byte in UTF-8: no other site can have a record or a batch signed in this way."""


def _import(name: str) -> Any:
    from importlib import import_module

    try:
        return import_module(name)
    except ImportError as error:
        raise MissingPart(
            "A federation of sites needs packages that are not installed.", "Run: pip install periplus[sites]"
        ) from error


class SiteKey:
    """The private key of a site."""

    def __init__(self, private: "Ed25519PrivateKey") -> None:
        self._private = private
        self.public: Final = private.public_key().public_bytes_raw().hex()
        """The public key, as 64 hexadecimal digits."""

    def __repr__(self) -> str:
        return f"SiteKey({self.public[:8]}...)"  # it must not reach a log

    def sign(self, purpose: str, body: bytes) -> bytes:
        """Return the signature of a body, 64 bytes."""
        return self._private.sign(_DOMAIN + purpose.encode("utf-8") + b"\n" + body)

    def seed(self) -> bytes:
        """Return the 32 bytes of the private key."""
        return self._private.private_bytes_raw()

    def private_pem(self) -> bytes:
        """Return the private key as PEM, for the file that NATS reads."""
        serialization = _import("cryptography.hazmat.primitives.serialization")
        pem: bytes = self._private.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
        return pem

    def make_certificate(self, name: str, address: str = "") -> str:
        """Return a certificate for the NATS server of a site, in PEM, that is signed by this key.

        address: 'host:port' where others reach it; its host is in the certificate.
        """
        x509 = _import("cryptography.x509")
        serialization = _import("cryptography.hazmat.primitives.serialization")
        oids = _import("cryptography.x509.oid")
        subject = x509.Name([x509.NameAttribute(oids.NameOID.COMMON_NAME, name)])
        names = [x509.DNSName(name)]
        host = address.rpartition(":")[0].strip("[]")
        if host:
            try:
                names.append(x509.IPAddress(ipaddress.ip_address(host)))
            except ValueError:
                names.append(x509.DNSName(host))
        # A site whose clock is wrong must still be able to link: the key decides, not the date.
        now = datetime.datetime(2020, 1, 1, tzinfo=datetime.UTC)
        usage = [oids.ExtendedKeyUsageOID.SERVER_AUTH, oids.ExtendedKeyUsageOID.CLIENT_AUTH]
        certificate = (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(subject)
            .public_key(self._private.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now)
            .not_valid_after(now + datetime.timedelta(days=365 * _YEARS))
            .add_extension(x509.SubjectAlternativeName(names), critical=False)
            .add_extension(x509.ExtendedKeyUsage(usage), critical=False)
            .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
            .sign(self._private, None)
        )
        pem: bytes = certificate.public_bytes(serialization.Encoding.PEM)
        return pem.decode("ascii")


def make_site_key(path: Path) -> SiteKey:
    """Write a new key to a file that only its owner can read, and return it; return the key of an existing file."""
    private = _import("cryptography.hazmat.primitives.asymmetric.ed25519").Ed25519PrivateKey.generate()
    with disk_errors(path):
        make_folder(path.parent, 0o700)
        temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        try:
            with open(descriptor, "wb") as file:
                file.write(SiteKey(private).private_pem())
                file.flush()
                os.fsync(file.fileno())
            with contextlib.suppress(FileExistsError):
                os.link(temporary, path)
        finally:
            os.unlink(temporary)
        sync_folder(path.parent)
    return read_site_key(path)


def read_site_key(path: Path) -> SiteKey:
    """Return the key in a file; raise `BadFile` if there is none or if others than its owner can read it."""
    serialization = _import("cryptography.hazmat.primitives.serialization")
    ed25519 = _import("cryptography.hazmat.primitives.asymmetric.ed25519")
    hint = "It was made by: periplus site init, or join. Without it the site is another one."
    try:
        with path.open("rb") as file:
            mode = os.fstat(file.fileno()).st_mode
            text = file.read(_MAX_FILE)
    except FileNotFoundError:
        raise BadFile(f"There is no key of a site at {path}.", hint) from None
    except OSError as error:
        raise BadFile(f"The key of the site at {path} cannot be read: {error.strerror}.", hint) from error
    if mode & (stat.S_IRWXG | stat.S_IRWXO):
        raise BadFile(f"{path} can be read by others than its owner.", f"Run: chmod 600 {path}")
    try:
        private = serialization.load_pem_private_key(text, None)
    except (ValueError, TypeError) as error:
        raise BadFile(f"{path} is not the key of a site.", hint) from error
    if not isinstance(private, ed25519.Ed25519PrivateKey):
        raise BadFile(f"{path} is not the key of a site.", hint)
    return SiteKey(private)


def is_signed_by(key: str, purpose: str, body: bytes, signature: bytes) -> bool:
    """Return whether the owner of a public key has signed a body for this purpose."""
    ed25519 = _import("cryptography.hazmat.primitives.asymmetric.ed25519")
    invalid = _import("cryptography.exceptions").InvalidSignature
    try:
        public = ed25519.Ed25519PublicKey.from_public_bytes(bytes.fromhex(key))
        public.verify(signature, _DOMAIN + purpose.encode("utf-8") + b"\n" + body)
    except (ValueError, TypeError, invalid):
        return False
    return True


def sign_record(key: SiteKey, record: SiteRecord) -> SiteRecord:
    """Return the record of a site with its signature."""
    record = msgspec.structs.replace(record, key=key.public, signature="")
    return msgspec.structs.replace(record, signature=key.sign("record", msgspec.json.encode(record)).hex())


def verify_record(record: SiteRecord) -> bool:
    """Return whether a record was signed by the site that it is about."""
    try:
        signature = bytes.fromhex(record.signature)
    except ValueError:
        return False
    body = msgspec.json.encode(msgspec.structs.replace(record, signature=""))
    return is_signed_by(record.key, "record", body, signature)
