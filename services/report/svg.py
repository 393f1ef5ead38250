"""Conversion of a drawn SVG to an element of the page: theme colours, the page's typeface, unique ids."""

import re
from xml.etree import ElementTree as Tree

from services.report.palette import INKS

_SVG, _XLINK = "http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink"
_HREF = f"{{{_XLINK}}}href"
_VARIABLES = {ink.light: f"var(--{name})" for name, ink in INKS.items()}
_FONT = re.compile(r"font:\s*(?P<style>[^;]*?)(?P<size>[\d.]+px)\s+[^;]+")
_REFERENCE = re.compile(r"url\(#([^)]+)\)")
_DECIMALS = re.compile(r"-?\d+\.\d{3,}")


def inline(drawn: bytes, prefix: str, label: str) -> str:
    """Return an ``<svg>`` element that follows the page's theme, with ``label`` for screen readers.

    Args:
        drawn: the file as drawn, in the light colours of ``INKS``.
        prefix: unique in the page; starts all ids.
    """
    root = Tree.fromstring(drawn)  # noqa: S314 - drawn by this program
    for parent in list(root.iter()):
        for child in list(parent):
            # a style element would apply to the whole page, whose stylesheet already says how lines join
            if child.tag.endswith(("}metadata", "}style")):
                parent.remove(child)
    used = {name for element in root.iter() for name in _referenced(element)}
    for element in root.iter():
        _rewrite(element, prefix, used)
    for name in ("width", "height", "version"):
        root.attrib.pop(name, None)
    root.set("role", "img")
    root.set("aria-label", label)
    text = Tree.tostring(_plain_names(root), encoding="unicode")
    # whitespace between elements only: that within text stays
    return re.sub(r">\s*\n\s*<", "><", text).strip()


def _referenced(element: Tree.Element) -> list[str]:
    names = [name for value in element.attrib.values() for name in _REFERENCE.findall(value)]
    return [*names, element.get(_HREF, "").removeprefix("#")]


def _rewrite(element: Tree.Element, prefix: str, used: set[str]) -> None:
    if "id" in element.attrib:
        if element.attrib["id"] in used:
            element.attrib["id"] = f"{prefix}-{element.attrib['id']}"
        else:
            del element.attrib["id"]
    if _HREF in element.attrib:
        element.set("href", f"#{prefix}-{element.attrib.pop(_HREF).removeprefix('#')}")
    for name, value in list(element.attrib.items()):
        value = _REFERENCE.sub(rf"url(#{prefix}-\1)", value)
        if name in ("style", "fill", "stroke"):
            value = _styled(value)
        elif name in ("d", "x", "y", "transform", "points"):
            value = _DECIMALS.sub(lambda match: f"{float(match[0]):.2f}", value)
            value = re.sub(r"\s+", " ", value).strip()
        element.attrib[name] = value


def _styled(style: str) -> str:
    for colour, variable in _VARIABLES.items():
        style = style.replace(colour, variable)
    return _FONT.sub(lambda match: f"font-size: {match['size']}; {_weight(match['style'])}font-family: inherit", style)


def _weight(font: str) -> str:
    bold = re.search(r"\b(bold|[5-9]00)\b", font)
    return f"font-weight: {bold[1]}; " if bold else ""


def _plain_names(root: Tree.Element) -> Tree.Element:
    """Return the elements without the ``ns0:`` that the serialiser would put before their names."""
    for element in root.iter():
        element.tag = element.tag.removeprefix(f"{{{_SVG}}}")
    root.set("xmlns", _SVG)
    return root
