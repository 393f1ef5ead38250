"""HTTP: our own ASGI application; BentoML mounts it and adds nothing to the way of a request."""

from services.transport.http.rows import row_binding

__all__ = ["row_binding"]
