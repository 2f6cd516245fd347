"""A certificate is tried before anything is started with it."""

from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path
from shutil import copy

import pytest
import trustme
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from brokerwise.model.errors import InputError
from brokerwise.runtime.net.tls import check_tls

HOST = "127.0.0.1"


class Files:
    """Certificates of an authority of our own, as files."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.authority = trustme.CA()
        self.authority.cert_pem.write_to_path(self.path("ca.pem"))

    def path(self, name: str) -> str:
        return str(self._folder / name)

    def issue(self, name: str, *hosts: str, **options: object) -> tuple[str, str]:
        """The paths of a certificate and its key."""
        issued = self.authority.issue_cert(*hosts, **options)  # type: ignore[arg-type]
        files = self.path(f"{name}.pem"), self.path(f"{name}.key")
        for part, pem in enumerate(issued.cert_chain_pems):
            pem.write_to_path(files[0], append=part > 0)
        issued.private_key_pem.write_to_path(files[1])
        return files

    def self_signed(self, host: str) -> tuple[str, str]:
        """As `openssl req -x509` makes them."""
        key = ec.generate_private_key(ec.SECP256R1())
        name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, host)])
        now = datetime.now(UTC)
        made = (
            x509.CertificateBuilder()
            .subject_name(name)
            .issuer_name(name)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - timedelta(days=1))
            .not_valid_after(now + timedelta(days=1))
            .add_extension(
                x509.SubjectAlternativeName([x509.IPAddress(ip_address(host))]), False
            )
            .add_extension(x509.BasicConstraints(True, None), True)
            .sign(key, hashes.SHA256())
        )
        files = self.path("self.pem"), self.path("self.key")
        encoding = serialization.Encoding.PEM
        Path(files[0]).write_bytes(made.public_bytes(encoding))
        Path(files[1]).write_bytes(self._pem(key))
        return files

    def encrypted(self, name: str) -> tuple[str, str]:
        """A good certificate whose key needs a password."""
        certificate, plain = self.issue(name, HOST)
        key = serialization.load_pem_private_key(Path(plain).read_bytes(), None)
        Path(plain).write_bytes(self._pem(key, b"password"))
        return certificate, plain

    @staticmethod
    def _pem(key: object, password: bytes = b"") -> bytes:
        how = (
            serialization.BestAvailableEncryption(password)
            if password
            else serialization.NoEncryption()
        )
        encoding = serialization.Encoding.PEM
        pem: bytes = key.private_bytes(  # type: ignore[attr-defined]
            encoding, serialization.PrivateFormat.PKCS8, how
        )
        return pem


@pytest.fixture
def files(tmp_path: Path) -> Files:
    return Files(tmp_path)


def test_a_certificate_that_its_authority_has_signed_for_the_host_is_good(
    files: Files,
) -> None:
    check_tls(*files.issue("good", HOST), files.path("ca.pem"), HOST)
    check_tls(*files.issue("named", "localhost"), files.path("ca.pem"), "localhost")
    check_tls("", "", "", HOST)


def test_one_that_signed_itself_is_its_own_authority(files: Files) -> None:
    certificate, key = files.self_signed(HOST)
    check_tls(certificate, key, certificate, HOST)
    with pytest.raises(InputError, match="self-signed") as refused:
        check_tls(certificate, key, "", HOST)
    assert f"--authority {certificate}" in refused.value.hint


def test_without_the_authority_that_signed_it_the_error_says_which_option_to_give(
    files: Files,
) -> None:
    certificate, key = files.issue("good", HOST)
    with pytest.raises(InputError, match="unable to get local issuer") as refused:
        check_tls(certificate, key, "", HOST)
    assert certificate in refused.value.message
    assert "--authority" in refused.value.hint
    other = files.path("other.pem")
    trustme.CA().cert_pem.write_to_path(other)
    with pytest.raises(InputError, match=r"unable to get local issuer|signature") as no:
        check_tls(certificate, key, other, HOST)
    assert other in no.value.message


def test_an_expired_one_is_refused(files: Files) -> None:
    past = datetime(2001, 1, 1, tzinfo=UTC)
    expired = files.issue("old", HOST, not_before=past, not_after=past)
    with pytest.raises(InputError, match="has expired") as refused:
        check_tls(*expired, files.path("ca.pem"), HOST)
    assert "--certificate" in refused.value.hint


def test_one_for_another_host_is_refused(files: Files) -> None:
    certificate, key = files.issue("other", "broker.example")
    for host in (HOST, "localhost"):
        with pytest.raises(InputError, match=f"not valid for '{host}'") as refused:
            check_tls(certificate, key, files.path("ca.pem"), host)
        assert "--host" in refused.value.hint


def test_files_that_do_not_belong_together_or_cannot_be_read_are_refused(
    files: Files,
) -> None:
    certificate, key = files.issue("one", HOST)
    _, another = files.issue("two", HOST)
    with pytest.raises(InputError, match="not that of the certificate"):
        check_tls(certificate, another, files.path("ca.pem"), HOST)
    with pytest.raises(InputError, match="needs a password"):
        check_tls(*files.encrypted("three"), files.path("ca.pem"), HOST)
    with pytest.raises(InputError, match="cannot use authority"):
        check_tls(certificate, key, key, HOST)
    copy(key, files.path("swapped.pem"))
    with pytest.raises(InputError, match="cannot use certificate"):
        check_tls(files.path("swapped.pem"), key, files.path("ca.pem"), HOST)
