"""`python -m paceline_cli`, for where the scripts are not on the PATH."""

from paceline_cli.main import main

main()
