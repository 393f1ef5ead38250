"""``python -m services.cli`` is ``demur``."""

import sys

from services.cli import main

sys.exit(main())
