"""Addresses in the settings of the review console: the services that it calls, and the page that reviewers open."""

from collections.abc import Mapping
from urllib.parse import urlsplit

from services.runtime.addresses import check_addresses
from services.runtime.keyed_settings import keyed
from services.runtime.variables import SettingsError


def service_urls(text: str) -> Mapping[str, str]:
    """Return task to the URL of its service, from ``DEMUR_REVIEW_SERVICES``.

    Raises:
        SettingsError: not of the form ``task=URL``, no address, or a task twice.
    """
    urls = keyed("DEMUR_REVIEW_SERVICES", text, "task=URL", "churn=https://churn.example:3021")
    check_addresses("REVIEW_SERVICES", urls.values())
    return urls


def check_page(url: str, tokens: str) -> None:
    """Check ``DEMUR_REVIEW_URL`` against ``DEMUR_TOKENS``; both may be empty.

    Raises:
        SettingsError: it is no address, it has a path, or reviewers would need no tokens there.
    """
    if not url:
        return
    check_addresses("REVIEW_URL", [url])
    parts = urlsplit(url)
    if parts.path not in ("", "/") or parts.query:
        raise SettingsError(
            f"DEMUR_REVIEW_URL = {url!r}: scheme, host and port are needed, without a path, such as "
            "https://review.example; the console is served at /"
        )
    if not tokens:
        raise SettingsError(
            f"DEMUR_REVIEW_URL = {url!r} needs DEMUR_TOKENS: without tokens anybody who reaches that address could "
            "label under any name"
        )
