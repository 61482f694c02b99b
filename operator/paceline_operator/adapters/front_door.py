"""TLS as an aggregated API needs it: let in the API server, which has asked RBAC, and nobody else.

The API server comes with a client certificate of its own. Who signs those, and by which names, is in a ConfigMap that
every cluster has; reading it wants the role extension-apiserver-authentication-reader in kube-system.
"""

import json
import os
import ssl
from collections.abc import Collection, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

from paceline.errors import InvalidInputError
from paceline_operator.ports.cluster import Cluster
from paceline_operator.ports.resources import CONFIG_MAP

WHERE: Final = ("kube-system", "extension-apiserver-authentication")
AUTHORITY: Final = "requestheader-client-ca-file"
NAMES: Final = "requestheader-allowed-names"
VALID: Final = timedelta(days=3650)
"""Nobody checks the certificate that we make ourselves: the APIService must say insecureSkipTLSVerify."""


class FrontDoor:
    """Opens to the API server alone."""

    def __init__(self, cluster: Cluster, folder: str | None) -> None:
        """`folder` has tls.crt and tls.key; without it a certificate is made that nobody has signed."""
        self._cluster, self._folder = cluster, folder
        self._names: Collection[str] = ()
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.context.verify_mode = ssl.CERT_REQUIRED
        if folder is None:
            self._load_own()

    async def refresh(self) -> None:
        """Read anew what may have been renewed: whom to trust, and our own certificate.

        An authority that was read is trusted until the operator restarts, as TLS contexts forget nothing. ClusterError,
        OSError, InvalidInputError: it could not be; what was read before still counts.
        """
        if self._folder is not None:
            self.context.load_cert_chain(Path(self._folder, "tls.crt"), Path(self._folder, "tls.key"))
        found = await self._cluster.get(CONFIG_MAP, *WHERE)
        data = (found or {}).get("data") or {}
        if not data.get(AUTHORITY):
            raise InvalidInputError(
                f"ConfigMap {'/'.join(WHERE)} has no {AUTHORITY}: start the API server with --{AUTHORITY}"
            )
        self.context.load_verify_locations(cadata=data[AUTHORITY])
        self._names = frozenset(json.loads(data.get(NAMES) or "[]"))

    def admits(self, certificate: Mapping[str, Any] | None) -> bool:
        """Whether a client with a certificate of the right authority has the right name too."""
        subject = certificate.get("subject", ()) if certificate else ()
        names = {value for part in subject for key, value in part if key == "commonName"}
        return bool(names) and (not self._names or not names.isdisjoint(self._names))

    def _load_own(self) -> None:
        """Through memory: there may be no folder that we can write to."""
        descriptor = os.memfd_create("paceline-external-metrics")
        try:
            os.write(descriptor, _self_signed())
            self.context.load_cert_chain(f"/proc/self/fd/{descriptor}")
        finally:
            os.close(descriptor)


def _self_signed() -> bytes:
    """A key and its certificate."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
    from cryptography.x509.oid import NameOID

    key, now = ec.generate_private_key(ec.SECP256R1()), datetime.now(UTC)
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "paceline-external-metrics")])
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(hours=1))
        .not_valid_after(now + VALID)
        .sign(key, hashes.SHA256())
    )
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()) + made.public_bytes(Encoding.PEM)
