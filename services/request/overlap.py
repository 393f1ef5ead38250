"""Record of whether requests overlap: one that comes while no other is under way may use the event loop itself.

A pass in a lane costs two changes of threads, which is a tenth of a pass of two milliseconds. They pay where another
request can be read, decided or written meanwhile. A pass on the event loop hides whether there is one, so even while
requests come one at a time, one in ``PROBE_EVERY`` takes a lane and finds out.
"""

PROBE_EVERY = 16
"""Of so many longer requests that come one at a time, one takes a lane; so many in a row must come so at first."""


class Overlap:
    """Record of whether requests came one at a time lately; use it from one event loop only."""

    def __init__(self) -> None:
        self._alone = 0
        """Requests in a row that entered and met no other."""
        self._left = 0
        """Passes that may block the event loop before one takes a lane again."""

    @property
    def none(self) -> bool:
        """True while requests come one at a time."""
        return self._alone >= PROBE_EVERY

    def entered(self, others: int) -> None:
        """Take note of a request that enters the schedule beside ``others``."""
        if others:
            self.met()
            return
        self._alone += 1
        if self.none:
            self._left = PROBE_EVERY - 1

    def met(self) -> None:
        """Take note of a request that came while another was under way."""
        self._alone = self._left = 0

    def may_block(self) -> bool:
        """Return whether a longer pass may block the event loop; the caller then does that."""
        if not self._left:
            return False
        self._left -= 1
        return True
