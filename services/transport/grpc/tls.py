"""Credentials of the gRPC server that follow the certificate in force."""

from typing import Any

import grpc

from services.access.certificates import Certificates, Material


def credentials(certificates: Certificates) -> grpc.ServerCredentials:
    """Return credentials for ``add_secure_port``; the library fetches them before each handshake, from its
    own threads.
    """
    known = certificates.current

    def configuration(material: Material) -> Any:
        return grpc.ssl_server_certificate_configuration([(material.key, material.certificate)], material.client_ca)

    def fetch() -> Any:
        nonlocal known
        current = certificates.current
        if current is known:
            return None
        known = current
        return configuration(current)

    asks_clients = known.client_ca is not None
    return grpc.dynamic_ssl_server_credentials(configuration(known), fetch, asks_clients)
