"""Head and official conventions of the translation task (Shifts 1.0, section 4 and appendix D)."""

from models.card import Words
from models.head import Head

GLEU_UNIT = "GLEU points, 0 to 100"
HYPOTHESES = Head(
    name="hypotheses",
    kind="sequence",
    unit="1",
    label="reference translation, text of tokens that whitespace separates",
    error="egleu_error",
    error_unit=GLEU_UNIT,
    acceptable=60.0,  # as released; the paper gives no number
    ensemble_measure="scr_pe",
    single_measure="nll",
    knowledge_measure="mkl",
)
HEADS = (HYPOTHESES,)

CARD = Words(
    families={
        "transformer": "Transformers of one design, trained from different seeds, whose probabilities are averaged "
        "token by token while they translate (Shifts 1.0, section 4 and D.3; smaller than those of the paper where the "
        "training says so).",
        "released": "The Transformers that were released with the benchmark (transformer_wmt_en_de_big; Shifts 1.0, "
        "D.3).",
    },
    predicts="Predicts the best five Russian translations of an English sentence, how confident each is, and how "
    "uncertain each of their tokens is.",
    not_for="texts that somebody relies on without reading them: medical, legal or safety instructions above all. "
    "Small models mistranslate fluently; read what is deferred, and sample what is not.",
    figures="Figures of held-out sentences by domain: BLEU and chrF of the most confident hypothesis (sacrebleu), "
    "expected and best GLEU of the five, and the area under the retention curve of 100 - expected GLEU; tokens of GLEU "
    "are what whitespace separates. A smaller sample than that of the quality page: at most 1000 lines of a domain, "
    "evenly spaced (200 where an ensemble was imported), and of these the ones of a single sentence; the page judges "
    "whole lines, with tokens of Moses. Rank correlations of int8 or fp16 with float32, under Training, are of at "
    "most 400 calibration sentences, evenly spaced; those of the quality page are of 400 lines that did not calibrate, "
    "half of them held out and half shifted.",
    notice="A demonstration of deferral, not a general translator.",
    units="pairs",
)
