"""What a head with a categorical predictive says: a probability of each class."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from demur._errors import ServiceFailure
from demur._head_answer import Floats, HeadAnswer, Response, array, decided, frozen, joined, of_members, whole
from demur.v1.common_pb2 import CategoricalHead


@dataclass(frozen=True, eq=False, repr=False)
class CategoricalAnswer(HeadAnswer):
    """Predictions for N rows, in the order of the question: probabilities of C classes.

    Arrays are read-only views of the received message. ``total`` is the entropy of the probabilities, ``data`` the
    mean entropy of the members, ``knowledge`` their mutual information: all in nats; ``uncertainty`` and
    ``threshold`` are in the unit of ``measure`` (a negated confidence has none). A row that was deferred still
    carries its prediction, unless the service's policy withholds it (NaN, class -1).
    """

    probabilities: Floats
    """Probability of each class, float32 [N, C]; of an ensemble the mean over its members."""
    class_names: tuple[str, ...] = ()
    """What classes 0, 1, 2 ... are; empty where the service does not say."""
    member_probabilities: Floats | None = None
    """Probabilities of each member, float32 [M, N, C], on request."""

    @cached_property
    def classes(self) -> NDArray[np.int64]:
        """The most probable class of each row, from 0, int64 [N]; -1 where the prediction is withheld."""
        found = np.full(len(self), -1, np.int64)
        known = ~np.isnan(self.probabilities).any(axis=1)
        if known.any():
            found[known] = self.probabilities[known].argmax(axis=1)
        return frozen(found)

    def _predictions(self) -> Iterator[tuple[str, NDArray[Any]]]:
        """``class``, then the probabilities ``p0``, ``p1`` ..."""
        yield "class", self.classes
        for place in range(self.probabilities.shape[1]):
            yield f"p{place}", self.probabilities[:, place]


def categorical(head: CategoricalHead, response: Response, class_names: tuple[str, ...]) -> CategoricalAnswer:
    """The answer in a head's message, which is in a response.

    Args:
        class_names: those of a description, taken where they are as many as the classes.

    Raises:
        ServiceFailure: there are no classes, or arrays of the message differ in length.
    """
    fields = decided(head, response)
    n, classes = len(fields["decisions"]), head.classes
    if classes == 0:
        raise ServiceFailure("a head with a categorical predictive has no classes", code="malformed")
    return CategoricalAnswer(
        **fields,
        probabilities=array(head.probabilities, n * classes).reshape(n, classes),
        class_names=class_names if len(class_names) == classes else (),
        member_probabilities=of_members(head.member_probabilities, n, classes),
    )


def join_categorical(parts: Sequence[CategoricalAnswer]) -> CategoricalAnswer:
    """One answer for consecutive parts of a batch.

    Raises:
        ServiceFailure: the model or its numeric profile changed between the parts.
    """
    if len(parts) == 1:
        return parts[0]
    return CategoricalAnswer(
        **joined(parts),
        probabilities=whole(parts, "probabilities"),
        class_names=parts[0].class_names,
        member_probabilities=whole(parts, "member_probabilities", axis=1),
    )
