"""Verdict on a head as a sentence."""

from models.qualification.head import HeadVerdict
from models.qualification.intervals import MEANS_CARRIED
from models.qualification.threshold import LEAST_CORRELATION, MOST_FLIPS


def sentence(head: HeadVerdict, unit: str) -> str:
    """Return the verdict on a head with the numbers that decided it, as a sentence.

    Args:
        unit: unit of the head's means, e.g. ``kW``; empty if it has none.
    """
    own = head.measures[head.measure]
    order = "undefined (scores all tied)" if own.correlation is None else f"{own.correlation:.6f}"
    first = own.thresholds[0] if own.thresholds else None
    if first is None or first.counted:
        share = f"{own.flips:.3%} of units change sides at the worst threshold (limit {MOST_FLIPS:.1%})"
    else:
        share = (
            f"at most {own.flips_limit:.3%} of units change sides at the worst threshold (limit {MOST_FLIPS:.1%}; "
            f"upper 95 % limit, estimated from {first.units} units)"
        )
    ranks = f"rank correlation of {own.measure} {order} (limit {LEAST_CORRELATION})"
    means = ""
    if head.means is not None:
        means = (
            f"; means move by up to {head.means.largest:.3g}{f' {unit}' if unit else ''}, {head.means.high:.2g} "
            f"predicted standard deviations (limit {MEANS_CARRIED:g})"
        )
    if head.verdict == "carried":
        text = f"carried: {share}, {ranks}; thresholds fall by a guard band of at most {own.guard:.3g}{means}"
    elif head.verdict == "mapped":
        text = f"mapped: {head.reason}; {ranks}; {_what_moves(head)}{means}"
    else:
        text = f"refused, all units are deferred: {head.reason}"
    dropped = [name for name, measure in head.measures.items() if name != head.measure and measure.verdict == "refused"]
    return text + (f"; refused measures: {', '.join(dropped)}" if dropped else "")


def _what_moves(head: HeadVerdict) -> str:
    """Describe which thresholds of a mapped head move, which fall by a guard band, and whose certificates are void."""
    own = head.measures[head.measure]
    kinds = [threshold.verdict for threshold in own.thresholds]
    if "mapped" not in kinds:
        return "thresholds fall by a guard band, all certificates are void"
    if "carried" not in kinds or (head.means is not None and head.means.verdict != "carried"):
        return "thresholds move to the same quantiles, all certificates are void"
    return (
        "thresholds that flip too often move to the same quantile, and their certificates are void; the others fall by "
        "a guard band"
    )
