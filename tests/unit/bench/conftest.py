"""The benchmarks are a folder beside the product, not installed anywhere: their tests bring them along."""

import sys

from paceline_dev import REPOSITORY

sys.path.insert(0, str(REPOSITORY / "bench"))
