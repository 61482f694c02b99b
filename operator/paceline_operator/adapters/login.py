"""kopf's own way to the API server: the same that our client takes."""

import kopf

from paceline_operator.adapters.access import Access


async def login(access: Access) -> kopf.ConnectionInfo:
    """For kopf's login handler, which asks again when the API server does not accept the answer any more."""
    found = await access.open()
    scheme, _, token = (access.authorization() or "").rpartition(" ")
    return kopf.ConnectionInfo(
        server=found.host,
        ca_path=found.ssl_ca_cert,
        insecure=not found.verify_ssl,
        certificate_path=found.cert_file,
        private_key_path=found.key_file,
        scheme=scheme or None,
        token=token or None,
    )
