"""Scenes and feature maps as the chunks of a stream."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

from demur._errors import DemurError, InvalidInput, TooLarge, wrong_argument
from demur._exchange import Part
from demur._motion_answer import MotionAnswers, decode, joined
from demur._motion_question import Piece
from demur._question import Manner, Purpose
from demur.v1 import motion_pb2 as wire
from demur.v1.common_pb2 import StreamBegin


class MotionChunks:
    """What is asked about motion and how, and what it is answered.

    Raises:
        InvalidInput: wishes that mean nothing.
    """

    def __init__(self, purpose: Purpose, defer_above: float | None, submission: bool) -> None:
        if isinstance(defer_above, Mapping):
            raise wrong_argument("defer_above", defer_above, "a number in the unit of the measure; there is one head")
        self._manner = Manner(purpose, defer_above, False)
        self._submission = submission
        self.begin = wire.MotionStreamRequest(begin=StreamBegin(**self._manner.fields()))
        """The first frame to send."""

    def unary(self, piece: Piece) -> wire.MotionPredictRequest:
        """A whole question in one message."""
        fields = self._manner.fields()
        del fields["members"]  # of rows only
        request = self._message(piece)
        request.MergeFrom(wire.MotionPredictRequest(**fields))
        return request

    def cut(self, question: list[Piece] | InvalidInput | TooLarge) -> list[Part[MotionAnswers]]:
        """The chunks of a question that was read.

        Raises:
            InvalidInput, TooLarge: it could not be.
        """
        if isinstance(question, DemurError):
            raise question
        return [
            Part(piece.first, partial(self._frame, piece), partial(decode, first=piece.first)) for piece in question
        ]

    def join(self, parts: Sequence[MotionAnswers]) -> MotionAnswers:
        """One answer for the chunks of a question."""
        return joined(parts)

    def refused(self, error: DemurError) -> None:
        """Nothing is remembered of a question that failed."""

    def _frame(self, piece: Piece, sequence: int) -> wire.MotionStreamRequest:
        return wire.MotionStreamRequest(chunk=wire.MotionChunk(sequence=sequence, request=self._message(piece)))

    def _message(self, piece: Piece) -> wire.MotionPredictRequest:
        request = piece.message()
        request.submission = self._submission
        return request
