"""HTTP: the ASGI application of this program; BentoML mounts it and adds nothing to the path of a request."""

from services.transport.http.rows import row_binding

__all__ = ["row_binding"]
