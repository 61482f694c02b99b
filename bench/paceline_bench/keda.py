"""KEDA beside us. Its figures are not of this run: to build and run it takes longer than all else here together."""

from typing import Final

from paceline_bench.bench import Beside

KEDA: Final = Beside(
    title="Beside KEDA",
    note="KEDA's figures were measured earlier on a machine of the same kind (2 cores, 24 GiB), not in this run: read "
    "ratios, not seconds. KEDA 2.21.0 and the HPA of Kubernetes 1.36.4 with the PostgreSQL scaler, without a kubelet, "
    "as here; one job at zero 30 times, scale-down 20 times. Default: a poll every 30 s. Aggressive: a poll every "
    "second, cool-down 5 s, scale-up policies wide open. Floor: the HPA's sync every second, which managed clusters do "
    "not offer.",
    columns=("KEDA, default", "aggressive", "floor"),
    rows=(
        ("enqueue_to_pod", "16.3 s", "0.64 s", ""),
        ("enqueue_to_pod_p99", "the longest 29.1 s", "the longest 1.43 s", ""),
        ("jobs_400_to_pods", "127 s", "28 s", "19.5 s"),
        ("connections_200_groups", "200 (one for each object)", "", ""),
        ("queries_idle_200_groups", "6.7 queries/s (computed: 2 a minute each)",
         "200 queries/s (computed: 60 a minute each)", ""),
        ("cpu_idle_200_groups", "1.2 % of a core", "", ""),
        ("rss_200_groups", "186 MB, and its adapter 120 MB", "", ""),
        ("cycles_interrupted", "43 of 60 busy pods killed, 10 to 3 in 20 tries", "", ""),
    ),
)  # fmt: skip
