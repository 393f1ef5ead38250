"""Terms of certificates, as another library reads them."""

from datetime import UTC, datetime

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding
from hypothesis import given, settings
from hypothesis import strategies as st

from services.access.certificates import validity

KEY = ec.generate_private_key(ec.SECP256R1())
moments = st.datetimes(datetime(1950, 1, 1), datetime(2200, 1, 1)).map(
    lambda moment: moment.replace(microsecond=0, tzinfo=UTC)
)


def certificate(start: datetime, end: datetime, name: str, serial: int) -> bytes:
    subject = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)])
    builder = x509.CertificateBuilder().subject_name(subject).issuer_name(subject).public_key(KEY.public_key())
    builder = builder.serial_number(serial).not_valid_before(start).not_valid_after(end)
    return builder.sign(KEY, hashes.SHA256()).public_bytes(Encoding.PEM)


@settings(max_examples=50)
@given(moments, moments, st.text("abcé", min_size=1, max_size=64), st.integers(1, 2**158))
def test_terms_are_read_from_any_certificate(one: datetime, two: datetime, name: str, serial: int) -> None:
    start, end = sorted((one, two))
    chain = b"words before\n" + certificate(start, end, name, serial) + certificate(end, end, "other", 1)
    assert validity(chain) == (start.timestamp(), end.timestamp())


def test_what_is_none_is_refused_whatever_it_is() -> None:
    good = certificate(datetime(2020, 1, 1, tzinfo=UTC), datetime(2030, 1, 1, tzinfo=UTC), "a", 1)
    lines = good.splitlines(keepends=True)
    for end in range(1, len(lines)):
        cut = b"".join([*lines[:end], b"-----END CERTIFICATE-----\n"])
        try:
            term = validity(cut)
        except ValueError:
            continue
        assert term == validity(good), "the term stands before the cut"
    for text in (b"", b"-----BEGIN CERTIFICATE-----\n\n-----END CERTIFICATE-----", b"\xff" * 100):
        with pytest.raises(ValueError, match="no certificate in PEM"):
            validity(text)
