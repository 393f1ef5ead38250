"""Record the golden bodies anew: ``python -m tests.golden``; a change of them is a change of the wire."""

from tests.golden.recorded import recorded
from tests.golden.test_golden import write

write(recorded())
