module paceline.dev/e2e/probe

go 1.26.0
