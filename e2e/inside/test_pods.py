"""The pod stories of the local node, on a kubelet: what the double does, the real one does."""

# ruff: noqa: F403 -- every story of these files, with the place of this folder's conftest
from cluster.pods.test_end import *
from cluster.pods.test_logs import *
from cluster.pods.test_order import *
from cluster.pods.test_probes import *
from cluster.pods.test_restarts import *
from cluster.pods.test_start import *
