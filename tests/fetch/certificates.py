"""Certificates for tests: an authority of our own, servers it vouches for, rightly or not, and one that uses them."""

import contextlib
import socket
import ssl
import threading
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID


class Authority:
    """Signs certificates. `file` is what is to be trusted."""

    def __init__(self, folder: Path, name: str = "Test authority") -> None:
        self._folder = folder
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        limits = x509.BasicConstraints(ca=True, path_length=None)
        certificate = _builder(self._name, self._name, self._key).add_extension(limits, critical=True)
        self._certificate = certificate.sign(self._key, hashes.SHA256())
        self.file = folder / f"{name}.pem"
        self.file.write_bytes(self._certificate.public_bytes(serialization.Encoding.PEM))

    def vouch(self, host: str, days: tuple[int, int] = (-1, 30), name: str = "") -> tuple[Path, Path]:
        """Make a certificate for a host, good from and to so many days from now; give its file and its key's."""
        key = ec.generate_private_key(ec.SECP256R1())
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, host)])
        builder = _builder(subject, self._name, key, days)
        builder = builder.add_extension(x509.SubjectAlternativeName([x509.DNSName(host)]), critical=False)
        return _write(self._folder, name or host, builder.sign(self._key, hashes.SHA256()), key)


class TlsPeer:
    """Answers every request over TLS, and counts them."""

    def __init__(self, files: tuple[Path, Path], version: ssl.TLSVersion | None = None) -> None:
        self.requests = 0
        self._context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        if version is not None:
            self._context.maximum_version = self._context.minimum_version = version
            self._context.set_ciphers("DEFAULT:@SECLEVEL=0")
        self._context.load_cert_chain(*files)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        while True:
            try:
                peer, _ = self._listener.accept()
            except OSError:
                return
            with contextlib.suppress(OSError), self._context.wrap_socket(peer, server_side=True) as talk:
                while talk.recv(65_536):
                    self.requests += 1
                    talk.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 5\r\n\r\nhello")

    def close(self) -> None:
        self._listener.close()


def self_signed(folder: Path, host: str) -> tuple[Path, Path]:
    """Make a certificate that nobody vouches for."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, host)])
    names = x509.SubjectAlternativeName([x509.DNSName(host)])
    certificate = _builder(name, name, key).add_extension(names, critical=False).sign(key, hashes.SHA256())
    return _write(folder, f"self-{host}", certificate, key)


def _builder(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePrivateKey, days: tuple[int, int] = (-1, 30)
) -> x509.CertificateBuilder:
    now = datetime.now(UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now + timedelta(days=days[0]))
        .not_valid_after(now + timedelta(days=days[1]))
    )


def _write(
    folder: Path, name: str, certificate: x509.Certificate, key: ec.EllipticCurvePrivateKey
) -> tuple[Path, Path]:
    files = folder / f"{name}.crt", folder / f"{name}.key"
    files[0].write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    files[1].write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    )
    return files
