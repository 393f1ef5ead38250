"""The page: one HTML document that needs nothing but itself."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from html import escape

from models.evaluation.compare import Comparison
from services.report import glossary, naming, tables, words
from services.report.block import Block, File, Note
from services.report.marks import legend, named
from services.report.numerals import THIN, change, numeral, shown
from services.report.style import SCRIPT, STYLE

_POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:"
_OPTION = re.compile(r"(?<!\S)--[a-z-]+")
"""Of the command line; it is not to be broken."""


def page(
    files: Sequence[File], blocks: Sequence[Block], compared: Block | None, comparison: Comparison | None, version: str
) -> str:
    """The whole document.

    Args:
        blocks: the figures in reading order, without those of the comparison.
        version: of the program that made it.
    """
    body = [
        _header(files),
        "<main>",
        *(_block(block) + (_no_f1(files, blocks) if block.key == "error-retention" else "") for block in blocks),
        _comparison(files, compared, comparison),
        _all_tables(files),
        _notes(files),
        "</main>",
        f"<footer>Made by demur {escape(version)}. One file, no network: it can be kept, sent and printed.</footer>",
    ]
    title = f"{naming.labels([files[0].evaluation.judged.source])[0]} – demur report"
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}"><meta name="generator" content="demur report">'
        f'<meta name="color-scheme" content="light dark"><link rel="icon" href="data:,"><title>{escape(title)}</title>'
        f"<style>{STYLE}</style></head>\n<body>\n"
        + "\n".join(part for part in body if part)
        + f"\n<script>{SCRIPT}</script>"
        "\n</body></html>\n"
    )


def _header(files: Sequence[File]) -> str:
    first = files[0]
    judged = first.evaluation.judged
    what = f"{len(files)} files" if len(files) > 1 else f"<code>{escape(first.name)}</code>"
    measure = escape(naming.clean(judged.measure_name))
    kicker = f"{escape(glossary.heading(naming.clean(judged.task)))}: {what}, deferred by <code>{measure}</code>"
    sentence = words.result(first.evaluation, first.curves["full"])
    if len(files) > 1:
        sentence = f"With {first.name}, {sentence[:1].lower()}{sentence[1:]}"
    glance = _tiles(first)
    if len(files) > 1:
        verdict = words.verdict([file.evaluation for file in files], [file.name for file in files])
        glance = f'<p class="lead">{escape(verdict)}</p>{tables.glance(files)}'
    return (
        '<header><div class="bar"><span><b>demur</b> report</span>'
        '<button id="theme" type="button" hidden>Dark</button></div>'
        f'<p class="kicker">{kicker}</p><h1 class="long">{escape(sentence)}</h1>'
        f"{glance}</header>"
    )


def _tiles(file: File) -> str:
    """The few numbers to remember."""
    judged, figures, curves = file.evaluation.judged, file.evaluation.full.headline, file.curves["full"]
    unit, name = judged.error.unit, words.mean_error(judged)
    tiles = [(f"{glossary.heading(name)}, all answered", figures.error, unit, words.count_units(figures.n))]
    if figures.n >= words.FEWEST:
        answered = words.mean_of_answered(curves)
        foot = f"{change(answered / figures.error - 1)} against all" if 0 < figures.error < math.inf else ""
        tiles.append((f"Of the most certain 95{THIN}%", answered, unit, foot))
    if figures.prr == figures.prr:
        tiles.append(("Ranking of errors (PRR)", figures.prr, "1", "0 is random, 1 perfect"))
    if figures.f1_at_95 == figures.f1_at_95:
        tiles.append((f"F1 at 95{THIN}% retention", figures.f1_at_95, "1", f"area {numeral(figures.f1_auc, '1')}"))
    if figures.roc_auc == figures.roc_auc:
        tiles.append(("Noticing shift (ROC-AUC)", figures.roc_auc, "1", "0.5 is blind, 1 perfect"))
    items = "".join(
        f'<div><dt>{escape(label)}</dt><dd><span class="value">{numeral(value, unit)}'
        f"{f' <small>{escape(shown(unit))}</small>' if shown(unit) else ''}</span>"
        f'<div class="foot" style="border:0;padding:0">{escape(foot)}</div></dd></div>'
        for label, value, unit, foot in tiles
    )
    return f'<dl class="tiles">{items}</dl>'


def _block(block: Block) -> str:
    size = {1: " one", 2: " two"}.get(len(block.panels), "")
    lead = _OPTION.sub(r"<code>\g<0></code>", escape(block.lead))
    figures = "".join(f"<figure>{panel.chart.inline}{_caption(panel.caption)}</figure>" for panel in block.panels)
    return (
        f'<section id="{block.key}"><h2>{escape(block.title)}</h2><p>{lead}</p>'
        f'{legend(block.legend)}<div class="panels{size}">{figures}</div></section>'
    )


def _caption(caption: Sequence[Note]) -> str:
    """Lines below a figure, a file's own ones behind its stroke."""
    if not caption:
        return ""
    lines = (named(one.file.place, one.text) if one.file else escape(one.text) for one in caption)
    return f"<figcaption>{''.join(f'<div>{line}</div>' for line in lines)}</figcaption>"


def _no_f1(files: Sequence[File], blocks: Sequence[Block]) -> str:
    if any(block.key == "f1-retention" for block in blocks):
        return ""
    judged = files[0].evaluation.judged
    if judged.error.acceptable is None:
        return "<p class=note>There is no F1-retention: the papers name no acceptable limit for this error.</p>"
    return "<p class=note>There is no F1-retention: no error of these units is acceptable.</p>"


def _comparison(files: Sequence[File], compared: Block | None, comparison: Comparison | None) -> str:
    if comparison is None or not any(comparison.differences.values()):
        return ""
    table = tables.comparison(files, comparison)
    if compared is None:
        return f'<section id="comparison"><h2>Do the files differ?</h2>{table}</section>'
    return _block(compared).removesuffix("</section>") + table + "</section>"


def _all_tables(files: Sequence[File]) -> str:
    parts = []
    for file in files:
        one = file.evaluation
        content = "".join(table(one) for table in tables.OF_A_FILE)
        if len(files) == 1:
            parts.append(content)
        else:
            state = " open" if file.place == 0 else ""
            parts.append(f'<details class="file"{state}><summary>{escape(file.name)}</summary>{content}</details>')
    lead = "Arrows say which way is better. Point at a number to see all its digits."
    return f'<section id="numbers"><h2>All numbers</h2><p>{lead}</p>{"".join(parts)}</section>'


def _notes(files: Sequence[File]) -> str:
    judged = files[0].evaluation.judged
    said = [
        (f"{file.name}: {naming.clean(note)}" if len(files) > 1 else naming.clean(note))
        for file in files
        for note in file.evaluation.judged.notes
    ]
    notes = _list(f"{note[:1].upper()}{note[1:].rstrip('.')}." for note in said) if said else ""
    sources = "".join(
        f"<dt>{escape(file.name)}</dt><dd><code>{escape(naming.clean(file.evaluation.judged.source))}</code>, "
        f"{words.count_units(len(file.evaluation.judged))}</dd>"
        for file in files
    )
    meanings = "".join(f"<dt>{escape(label)}</dt><dd>{escape(said)}</dd>" for label, said in _meanings(files).items())
    conventions = _list(words.convention_in_words(judged.rules, files[0].evaluation.full.own))
    return (
        f'<section id="notes"><h2>Notes</h2>{notes}<dl class="words">{sources}</dl>'
        f'<details><summary>What each figure means</summary><dl class="words">{meanings}</dl></details>'
        f"<details><summary>Conventions</summary>{conventions}</details></section>"
    )


def _meanings(files: Sequence[File]) -> dict[str, str]:
    """Label to meaning of the figures and errors of these files that are defined, in reading order."""
    own = dict.fromkeys(name for file in files for name in file.evaluation.full.own)
    errors = dict.fromkeys(name for file in files for name in file.evaluation.judged.errors)
    known = [*glossary.COMMON.values(), *map(glossary.definition, own), *map(glossary.error, errors)]
    return {glossary.heading(one.label): one.meaning for one in known if one.meaning}


def _list(items: Iterable[str]) -> str:
    return f'<ul class="notes">{"".join(f"<li>{escape(item)}</li>" for item in items)}</ul>'
