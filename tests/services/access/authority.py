"""A certificate authority of a test; nothing of it outlives the test."""

import ipaddress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import NamedTuple

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID


class Pair(NamedTuple):
    """Certificate and key, PEM."""

    certificate: bytes
    key: bytes

    def put(self, directory: Path, name: str) -> tuple[Path, Path]:
        """Writes both; where they are."""
        paths = directory / f"{name}.pem", directory / f"{name}.key"
        for path, content in zip(paths, self, strict=True):
            path.write_bytes(content)
        return paths


class Authority:
    """Signs certificates of servers and of callers."""

    def __init__(self, name: str) -> None:
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = _name(name)
        authority = x509.BasicConstraints(ca=True, path_length=None)
        built = _begun(self._name, self._name, self._key, -1, 10).add_extension(authority, critical=True)
        self.pem = built.sign(self._key, hashes.SHA256()).public_bytes(Encoding.PEM)

    def server(self, *hosts: str, start: float = -1, end: float = 5) -> Pair:
        """Valid from and to so many days from now; by default for the loopback."""
        names = [_host(host) for host in hosts or ("localhost", "127.0.0.1")]
        return self._issue("server", ExtendedKeyUsageOID.SERVER_AUTH, start, end, names)

    def caller(self, name: str = "caller", start: float = -1, end: float = 5) -> Pair:
        return self._issue(name, ExtendedKeyUsageOID.CLIENT_AUTH, start, end, [])

    def _issue(
        self, name: str, usage: x509.ObjectIdentifier, start: float, end: float, hosts: list[x509.GeneralName]
    ) -> Pair:
        key = ec.generate_private_key(ec.SECP256R1())
        built = _begun(_name(name), self._name, key, start, end)
        built = built.add_extension(x509.ExtendedKeyUsage([usage]), critical=False)
        if hosts:
            built = built.add_extension(x509.SubjectAlternativeName(hosts), critical=False)
        signed = built.sign(self._key, hashes.SHA256())
        text = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
        return Pair(signed.public_bytes(Encoding.PEM), text)


def _begun(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePrivateKey, start: float, end: float
) -> x509.CertificateBuilder:
    now = datetime.now(UTC)
    builder = x509.CertificateBuilder().subject_name(subject).issuer_name(issuer).public_key(key.public_key())
    builder = builder.serial_number(x509.random_serial_number())
    return builder.not_valid_before(now + timedelta(days=start)).not_valid_after(now + timedelta(days=end))


def _name(name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])


def _host(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host)
