module paceline.dev/pins/node

go 1.26.0
