"""What fairseq prints, written and read: by hand as the fork prints it, there and back, and with something wrong."""

import math
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.evaluation.unit_errors import BadFile
from models.tasks.translation.data import generated
from models.tasks.translation.data.generated import Generated, Hypothesis
from models.uncertainty.sequences import SCORES

PRINTED = """Namespace(beam=5, nbest=2, remove_bpe='@@ ')
| [en] dictionary: 42000 types
| wmt20_en_ru test en-ru 1997 examples
S-7\tThe museum &apos;s doors .
T-7\tДвери музея .
H-7\t-0.25\tДвери музея .
P-7\t-0.1000 -0.2000 -0.3000 -0.4000
T-EOE-7\t0.1 0.2
SU-7\t1\t2\t3\t4\t5\t6\t7\t8\t9\t10\t11\t12\t13\t14\t15\t16\t17\t18\t19
H-7\t-0.5\tДвери .
P-7\t-0.5000 -0.5000
SU-7\t1.5\t2\t3\t4\t5\t6\t7\t8\t9\t10\t11\t12\t13\t14\t15\t16\t17\t18\t19
SUNL-7\t1 2
| 50%|####  |\rS-2\tNo .
T-2\tНет .
H-2\t-1e-05\t
P-2\t-0.0000
SU-2\t0\t0\t0\t0\t0\t0\t0\t0\t0\t0\t0\t0\t0\t0\t0\t0\t0\t0\t0
H-2\t-2\tНет
P-2\t-2.0
SU-2\t0\t0\t0\t0\t0\t0\t0\t0\t0\t0\t0\t0\t0\t0\t0\t0\t0\t0\t0
| Translated 2 sentences (10 tokens) in 1.0s
"""


def written(path: Path, text: str) -> Path:
    path.write_bytes(text.encode())
    return path


def test_printed_lines_are_read_and_log_is_not(tmp_path: Path) -> None:
    path = written(tmp_path / "results-test.txt", PRINTED)
    assert generated.is_generated(path)
    first, second = generated.read(path)
    assert (first.id, first.source, first.reference) == (7, "The museum &apos;s doors .", "Двери музея .")
    best, other = first.hypotheses
    assert (best.text, best.score, best.token_log_probabilities) == ("Двери музея .", -0.25, (-0.1, -0.2, -0.3, -0.4))
    assert (other.text, other.scores["eoe"]) == ("Двери .", 1.5)
    assert (second.id, second.source, second.hypotheses[0].text) == (2, "No .", "")


def test_scores_stand_in_the_released_order(tmp_path: Path) -> None:
    """As the columns of the released shell script name them."""
    columns = {"eoe": 2, "exe": 3, "mi": 4, "epkl": 5, "scr_pe": 6, "scr_ep": 7, "sdu": 8, "smkl_ep": 9, "smkl_pe": 10}
    columns |= {"log_prob": 11, "ep_eoe": 12, "ep_mi": 13, "ep_epkl": 14, "ep_mkl": 15, "mkl": 16}
    columns |= {"var": 17, "varcombo": 18, "logvar": 19, "logcombo": 20}
    scores = generated.read(written(tmp_path / "a", PRINTED))[0].hypotheses[0].scores
    assert scores == {name: column - 1 for name, column in columns.items()}


def test_logarithms_of_base_two_become_natural(tmp_path: Path) -> None:
    lines = "S-0\ta\nH-0\t-1.0\tб\nD-0\t-1.0\tб\nP-0\t-1.0 -3.0\n"
    best = generated.read(written(tmp_path / "a", lines))[0].hypotheses[0]
    assert best.score == pytest.approx(-math.log(2))
    assert best.token_log_probabilities == pytest.approx((-math.log(2), -3 * math.log(2)))


FLOATS = st.floats(-1e6, 1e6)
TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\n\r\t"), max_size=20)


@st.composite
def sentences(draw: st.DrawFn) -> list[Generated]:
    ids = draw(st.lists(st.integers(0, 10**9), min_size=1, max_size=4, unique=True))
    scored, tokens = draw(st.booleans()), draw(st.booleans())

    def hypothesis() -> Hypothesis:
        logs = tuple(draw(st.lists(st.integers(-99, 0), min_size=1, max_size=4))) if tokens else ()
        values = {name: draw(FLOATS) for name in SCORES} if scored else {}
        return Hypothesis(draw(TEXTS), draw(FLOATS), tuple(count / 16 for count in logs), values)

    return [
        Generated(key, draw(st.none() | TEXTS), draw(st.none() | TEXTS), (hypothesis(), hypothesis())) for key in ids
    ]


@given(sentences())
def test_what_is_written_is_read_again(tmp_path_factory: pytest.TempPathFactory, given: list[Generated]) -> None:
    path = tmp_path_factory.mktemp("generated") / "results.txt"
    generated.write(path, given)
    assert generated.read(path) == given


def test_tokens_have_four_decimals() -> None:
    sentence = Generated(3, "a", None, (Hypothesis("б", -0.5, (-0.123456, -1.0)),))
    assert list(generated.lines([sentence])) == ["S-3\ta", "H-3\t-0.5\tб", "P-3\t-0.1235 -1.0000"]


@pytest.mark.parametrize(
    ("one", "message"),
    [
        (Generated(3, "a\nb", None, (Hypothesis("б", 0.0),)), "ends of lines or tabs"),
        (Generated(3, "a", None, (Hypothesis("б\tв", 0.0),)), "ends of lines or tabs"),
        (Generated(3, "a", None, ()), "sentence 3 has no hypotheses"),
        (Generated(3, "a", None, (Hypothesis("б", 0.0, (), {"eoe": 1.0}),)), "sentence 3 has scores without exe"),
    ],
)
def test_what_cannot_be_written_is_refused(one: Generated, message: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=message):
        generated.write(tmp_path / "a", [one])
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (PRINTED, "| log\n", "a has no hypotheses"),
        ("H-7\t-0.25", "H-7\tgood", "a, line 6: 'good' is no number"),
        ("H-7\t-0.25", "H-7\tnan", "a, line 6: a value is nan; finite"),
        ("-0.1000 -0.2000", "-0.1000 ?", r"a, line 7: '\?' is no number"),
        ("SU-7\t1\t2\t3", "SU-7\t1\t2", "a, line 9: SU-7 has 18 values; 19 are needed"),
        ("SU-7\t1\t2\t3", "SU-7\t1\t2\tinf", "a, line 9: a value is inf"),
        ("SU-7\t1.5\t", "SU-8\t1.5\t", "a, line 12: SU-8 without a hypothesis"),
        ("SUNL-7\t1 2", "P-7\t-0.1", "a, line 13: P-7 without a hypothesis"),
        ("P-7\t-0.5000 -0.5000\n", "", "a, line 4: sentence 7 has P lines for some hypotheses only"),
        ("T-7\tДвери музея .\n", "T-7\tДвери\nT-7\tДвери\n", "a, line 6: T-7 is given twice"),
        (
            "| Translated",
            "H-7\t-1\tДверь\n| Translated",
            "a, line 22: sentence 7 began in line 4, and others came since",
        ),
        ("| Translated", "S-9\tDoor\n| Translated", "a, line 22: sentence 9 has no hypotheses"),
    ],
)
def test_wrong_lines_are_refused_by_number(old: str, new: str, message: str, tmp_path: Path) -> None:
    assert old in PRINTED
    with pytest.raises(BadFile, match=message):
        generated.read(written(tmp_path / "a", PRINTED.replace(old, new, 1)))


def test_submissions_and_log_alone_are_nothing_that_was_printed(tmp_path: Path) -> None:
    assert not generated.is_generated(written(tmp_path / "a", '{"id": 0}\nH-0\t-1\ta\n'))
    assert not generated.is_generated(written(tmp_path / "b", "log\n" * 10))
