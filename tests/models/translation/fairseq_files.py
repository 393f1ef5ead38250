"""Files of a released folder made by the programs that make them: merges learnt by subword-nmt, dictionaries of what
they cut, checkpoints as fairseq writes them."""

import io
from argparse import Namespace
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import torch
from subword_nmt.learn_bpe import learn_bpe

from models.tasks.translation.networks.settings import Sizes
from models.tasks.translation.networks.transformer import Transformer
from models.tasks.translation.text import merges, moses

ENGLISH = (
    "The well-known museum opened its doors in May.",
    "It's 5 p.m. and the museum doesn't open; the doors are closed.",
    'He said: "The doors [of the museum] cost $5,300" & left.',
    "The museum was opened, closed and reopened by the well-known mayor.",
)
RUSSIAN = (
    "Известный музей открыл двери в мае.",
    "Сейчас 5 часов, музей не открыт; двери закрыты.",
    "Он сказал: «Двери [музея] стоят 5300 долларов» и ушёл кое-куда.",
    "Известный мэр открыл, закрыл и снова открыл музей.",
)


def tokenised(sentences: Iterable[str], language: str) -> list[str]:
    return [moses.tokenised(moses.prepared(sentence, language), language) for sentence in sentences]


def learnt(size: int = 60) -> bytes:
    """Merges of both languages together."""
    code = io.StringIO()
    learn_bpe(io.StringIO("\n".join([*tokenised(ENGLISH, "en"), *tokenised(RUSSIAN, "ru")])), code, size)
    return code.getvalue().encode()


def counted(code: bytes, sentences: Iterable[str], language: str) -> bytes:
    """The dictionary of some sentences, filled up to a multiple of eight as fairseq does it."""
    parsed = merges.parse(code, "code")
    pieces = Counter(piece for sentence in tokenised(sentences, language) for piece in parsed.pieces(sentence.split()))
    rows = [*pieces.most_common()]
    rows += [(f"madeupword{number:04d}", 0) for number in range(-(len(rows) + 4) % 8)]
    return "".join(f"{symbol} {count}\n" for symbol, count in rows).encode()


def texts(size: int = 60) -> dict[str, bytes]:
    code = learnt(size)
    return {
        "code": code,
        "dict.en.txt": counted(code, ENGLISH, "en"),
        "dict.ru.txt": counted(code, RUSSIAN, "ru"),
    }


def sizes(files: dict[str, bytes], **other: int) -> Sizes:
    """Of a small Transformer with the tables that the dictionaries need."""
    rows = {side: files[f"dict.{side}.txt"].count(b"\n") + 4 for side in ("en", "ru")}
    defaults = {
        "source": rows["en"],
        "target": rows["ru"],
        "width": 8,
        "heads": 2,
        "inner": 16,
        "encoder": 1,
        "decoder": 1,
    }
    return Sizes(**{**defaults, **other}, norm_first=False, shared=False)


def checkpoint(path: Path, of: Sizes, seed: int) -> None:
    torch.manual_seed(seed)
    options = Namespace(arch="transformer_wmt_en_de_big", encoder_attention_heads=of.heads)
    torch.save({"args": options, "model": Transformer(of).state_dict()}, path)


def folder(path: Path, members: int = 2) -> Path:
    """A released folder."""
    path.mkdir()
    files = texts()
    for name, content in files.items():
        (path / name).write_bytes(content)
    for number in range(1, members + 1):
        checkpoint(path / f"model{number}.pt", sizes(files), number)
    return path
