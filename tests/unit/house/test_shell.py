"""What a shell has said to Paceline reaches no test; what it has said to the tests does."""

from support.shell import foreign


def test_what_is_meant_for_commands_is_kept_from_them() -> None:
    shell = {
        "PACELINE_DATABASE_URL": "postgresql://db/a", "DATABASE_URL": "postgresql://db/a", "PACELINE_POOL": "mine",
        "KUBECONFIG": "mine", "PACELINE_TEST_DATABASE_URL": "postgresql://db/tests", "PACELINE_CACHE": "cache",
        "PACELINE_ENGINE": "local", "PATH": "/bin",
    }  # fmt: skip
    assert sorted(foreign(shell)) == ["DATABASE_URL", "KUBECONFIG", "PACELINE_DATABASE_URL", "PACELINE_POOL"]
