"""Makes `examples` and `update_golden` of this folder importable for the tests beside them."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
