"""Certificates: ours to show, and those of others to check."""

import ssl

from brokerwise.model.errors import InputError


def server_tls(certificate: str, private_key: str) -> ssl.SSLContext | None:
    """For a process that listens; None without a certificate."""
    if not certificate:
        return None
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    try:
        context.load_cert_chain(certificate, private_key or None)
    except (OSError, ssl.SSLError) as cause:
        raise InputError(
            f"cannot use certificate {certificate} with private key "
            f"{private_key or certificate}: {cause}"
        ) from cause
    return context


def client_tls(url: str, authority: str) -> ssl.SSLContext | None:
    """For whoever connects to an address; None if it is not secured. Without a file
    of authorities, those of the system are trusted."""
    if not url.startswith(("https:", "wss:")):
        return None
    try:
        return ssl.create_default_context(cafile=authority or None)
    except (OSError, ssl.SSLError) as cause:
        raise InputError(f"cannot use authority {authority}: {cause}") from cause
