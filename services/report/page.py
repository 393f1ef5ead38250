"""Content of the page: the values for the template ``report.html``."""

import math
from collections.abc import Sequence

from services.report import captions, glossary, naming, tables
from services.report.block import Block, File, Tile
from services.report.number_format import THIN, change, numeral, shown
from services.report.rendering import environment


def page(files: Sequence[File], blocks: Sequence[Block]) -> str:
    """Return the whole HTML document.

    Args:
        blocks: the sections with figures, in reading order.
    """
    first, several = files[0], len(files) > 1
    judged = first.evaluation.judged
    result = captions.result(first.evaluation, first.curves["full"])
    content = {
        "name": naming.labels([judged.source])[0],
        "task": glossary.heading(naming.clean(judged.task)),
        "measure": naming.clean(judged.measure_name),
        "result": f"With {first.name}, {result[:1].lower()}{result[1:]}" if several else result,
        "verdict": captions.verdict([file.evaluation for file in files], [file.name for file in files])
        if several
        else "",
        "glance": tables.glance(files) if several else None,
        "tiles": _tiles(first),
        "notes": _notes(files),
        "meanings": _meanings(files),
        "conventions": captions.conventions(judged.rules, first.evaluation.full.own),
        "file_tables": tables.of_file,
        "count_units": captions.count_units,
    }
    jinja = environment()
    jinja.filters["clean"] = naming.clean
    return jinja.get_template("report.html").render(files=files, blocks=blocks, **content)


def _tiles(file: File) -> list[Tile]:
    """Return the headline figures of a file that are defined."""
    judged, figures, curves = file.evaluation.judged, file.evaluation.full.headline, file.curves["full"]
    unit, name = judged.error.unit, captions.mean_error(judged)
    tiles = [(f"{glossary.heading(name)}, all answered", figures.error, unit, captions.count_units(figures.n))]
    if figures.n >= captions.FEWEST:
        answered = captions.mean_of_answered(curves)
        foot = f"{change(answered / figures.error - 1)} against all" if 0 < figures.error < math.inf else ""
        tiles.append((f"Of the most certain 95{THIN}%", answered, unit, foot))
    shares = [
        ("Ranking of errors (PRR)", figures.prr, "0 is random, 1 perfect"),
        (f"F1 at 95{THIN}% retention", figures.f1_at_95, f"area {numeral(figures.f1_auc, '1')}"),
        ("Noticing shift (ROC-AUC)", figures.roc_auc, "0.5 is blind, 1 perfect"),
    ]
    tiles += [(label, share, "1", foot) for label, share, foot in shares if not math.isnan(share)]
    return [Tile(label, numeral(value, unit), shown(unit), foot) for label, value, unit, foot in tiles]


def _notes(files: Sequence[File]) -> list[str]:
    """Return the notes of the files as sentences; with the file's name if there are several."""
    notes = []
    for file in files:
        prefix = f"{file.name}: " if len(files) > 1 else ""
        texts = [prefix + naming.clean(note) for note in file.evaluation.judged.notes]
        notes += [f"{text[:1].upper()}{text[1:].rstrip('.')}." for text in texts]
    return notes


def _meanings(files: Sequence[File]) -> dict[str, str]:
    """Return label to meaning of the defined figures and errors of these files, in reading order."""
    own = dict.fromkeys(name for file in files for name in file.evaluation.full.own)
    errors = dict.fromkeys(name for file in files for name in file.evaluation.judged.errors)
    definitions = [*glossary.COMMON.values(), *map(glossary.definition, own), *map(glossary.error, errors)]
    return {glossary.heading(entry.label): entry.meaning for entry in definitions if entry.meaning}
