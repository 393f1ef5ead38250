"""Jinja2 environment of the HTML pages, with the templates and names that the pages share."""

from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from services import __version__
from services.report.palette import INKS, stroke

TEMPLATES = Path(__file__).parent / "templates"


def environment(*folders: Path) -> Environment:
    """Return an environment that escapes every value and refuses names that are not defined.

    Args:
        folders: places of the page's own templates, searched before those that all pages share.
    """
    environment = Environment(
        loader=FileSystemLoader([*folders, TEMPLATES]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    environment.globals |= {"inks": INKS, "stroke": stroke, "version": __version__}
    return environment
