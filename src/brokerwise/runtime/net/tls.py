"""Certificates: ours to show, and those of others to check."""

import os
import ssl
from functools import lru_cache

from brokerwise.model.errors import InputError

_MOST_FLIGHTS = 10  # of a handshake: TLS 1.2, the longest, has four
_UNTRUSTED = (18, 19, 20, 21, 2)  # X509_V_ERR_*: no way to an authority that is known
_NOT_NOW = (9, 10)  # not yet valid, has expired
_WRONG_HOST = (62, 64)  # a name, an address
_REASONS = {
    "KEY_VALUES_MISMATCH": "the key is not that of the certificate",
    "NO_START_LINE": "it is no PEM file of that kind",
    "PEM_LIB": "it is no PEM file of that kind",
    "NO_CERTIFICATE_OR_CRL_FOUND": "there is no certificate in it",
}


def server_tls(certificate: str, private_key: str) -> ssl.SSLContext | None:
    """For a process that listens; None without a certificate."""
    if not certificate:
        return None

    def no_password() -> bytes:
        raise InputError(
            f"private key {private_key or certificate} needs a password, which nobody "
            "could give to a process that is started again",
            hint="Store it without one: openssl pkey -in KEY -out PLAIN_KEY",
        )

    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    try:
        context.load_cert_chain(certificate, private_key or None, no_password)
    except OSError as cause:
        raise InputError(
            f"cannot use certificate {certificate} with private key "
            f"{private_key or certificate}: {_reason(cause)}"
        ) from cause
    return context


def client_tls(url: str, authority: str) -> ssl.SSLContext | None:
    """For whoever connects to an address; None if it is not secured. Without a file
    of authorities, those of the system are trusted."""
    if not url.startswith(("https:", "wss:")):
        return None
    try:
        changed = os.stat(authority).st_mtime_ns if authority else 0
        return _client_context(authority, changed)
    except OSError as cause:
        wrong = f"cannot use authority {authority}: {_reason(cause)}"
        raise InputError(wrong) from cause


@lru_cache(maxsize=8)
def _client_context(authority: str, changed: int) -> ssl.SSLContext:
    """Thousands of clients of one process share it: to read the system's authorities
    takes longer than to connect. A file that has changed is read again."""
    return ssl.create_default_context(cafile=authority or None)


def check_tls(certificate: str, private_key: str, authority: str, host: str) -> None:
    """Try what the processes of a fleet will do: show the certificate on a host, and
    check it as whoever connects there. Raises InputError, which says what is wrong
    and what to do about it. Without a certificate there is nothing to try."""
    server, client = server_tls(certificate, private_key), client_tls("wss:", authority)
    if server is None or client is None:
        return
    try:
        _shake_hands(server, client, host)
    except ssl.SSLCertVerificationError as cause:
        checked = f"against {authority}" if authority else "by what this machine trusts"
        raise InputError(
            f"certificate {certificate} does not pass, checked {checked}: "
            f"{cause.verify_message}",
            hint=_hint(cause.verify_code, certificate),
        ) from cause
    except ssl.SSLError as cause:
        raise InputError(
            f"certificate {certificate} cannot be used: {_reason(cause)}"
        ) from cause


def _shake_hands(server: ssl.SSLContext, client: ssl.SSLContext, host: str) -> None:
    """In memory, without a socket. Raises SSLError if the client finds fault."""
    to_client, to_server = ssl.MemoryBIO(), ssl.MemoryBIO()
    asks = client.wrap_bio(to_client, to_server, server_hostname=host)
    answers = server.wrap_bio(to_server, to_client, server_side=True)
    for _ in range(_MOST_FLIGHTS):
        for end in (asks, answers):
            try:
                end.do_handshake()
            except ssl.SSLWantReadError:
                continue
            if end is asks:
                return
    raise ssl.SSLError("the handshake does not end")


def _hint(code: int, certificate: str) -> str:
    if code in _NOT_NOW:
        return "Give --certificate one that is valid now, and look at the clock."
    if code in _WRONG_HOST:
        return "Give --host a name or address that the certificate is for."
    if code in _UNTRUSTED:
        return (
            "Give --authority the certificate of whoever signed it; if it signed "
            f"itself: --authority {certificate}"
        )
    return "See: openssl verify -help"


def _reason(cause: OSError) -> str:
    """What the file's reader says, without where in its source it does."""
    if isinstance(cause, ssl.SSLError):
        return _REASONS.get(cause.reason or "", str(cause).partition(" (_ssl.c")[0])
    return cause.strerror or str(cause)
