"""Translate a text and write a page with the original beside the translation.

Uncertain words are underlined; deferred sentences are grey, with the reason.

    python examples/underline.py letter.txt letter.html [--target 127.0.0.1:4002] [--above 1.5]
"""

import argparse
import html
import sys
from collections.abc import Iterator
from pathlib import Path

import demur

STYLE = """
body { font: 16px/1.6 Georgia, serif; max-width: 70em; margin: 2em auto; padding: 0 1em; color: #222 }
table { border-collapse: collapse; width: 100% } td { vertical-align: top; width: 50%; padding: .3em 1em }
tr { border-top: 1px solid #ddd } .deferred { color: #888; background: #f6f4ef }
.note { font: 12px sans-serif; color: #a33 }
u { text-decoration: underline wavy; text-decoration-thickness: 1.5px; text-underline-offset: 3px }
"""


def page(answer: demur.Translation, above: float) -> str:
    """Return the HTML of a translated text.

    Args:
        above: total uncertainty in nats from which a word is underlined; the colour darkens with it.
    """
    rows = "".join(_row(sentence, above) for sentence in answer.sentences)
    return (
        f"<!doctype html><meta charset=utf-8><title>Translation</title><style>{STYLE}</style>"
        f"<p>{html.escape(answer.outcome)}; words above {above:g} nats are underlined; {html.escape(answer.model)}</p>"
        f"<table>{rows}</table>"
    )


def _row(sentence: demur.TranslatedSentence, above: float) -> str:
    kind = ' class="deferred"' if sentence.deferred else ""
    note = f'<div class="note">deferred: {html.escape(sentence.comparison)}</div>' if sentence.deferred else ""
    text = html.escape(sentence.source) if sentence.best is None else "".join(_words(sentence.best, above))
    return f"<tr{kind}><td>{html.escape(sentence.source)}</td><td>{text}{note}</td></tr>"


def _words(best: demur.Hypothesis, above: float) -> Iterator[str]:
    """Yield the translation with each uncertain word underlined in the colour of its uncertainty."""
    end = 0
    for word in best.doubtful(above):
        strength = min(0.25 + 0.25 * (word.value - above), 1.0)
        yield html.escape(best.text[end : word.start])
        yield (
            f'<u style="text-decoration-color: rgba(190, 30, 30, {strength:.2f})" title="{word.value:.1f} nats">'
            f"{html.escape(best.text[word.start : word.stop])}</u>"
        )
        end = word.stop
    yield html.escape(best.text[end:])


def main() -> int:
    """Return 0, or 1 if the service cannot be called."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("text", type=Path, help="English, UTF-8")
    parser.add_argument("page", type=Path, help="HTML to write")
    parser.add_argument("--target", default="127.0.0.1:4002", help="host:port of the gRPC service")
    parser.add_argument("--above", type=float, default=1.5, help="nats from which a word is doubtful")
    options = parser.parse_args()
    try:
        with demur.connect(options.target) as client, client.translation.document(options.text.read_text()) as document:
            for number, _ in enumerate(document, 1):
                sys.stderr.write(f"\r{number} sentences")
            answer = document.result()
    except (demur.DemurError, OSError, UnicodeDecodeError) as error:
        sys.stderr.write(f"{error}\n")
        return 1
    options.page.write_text(page(answer, options.above))
    print(f"\n{answer.outcome} -> {options.page}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
