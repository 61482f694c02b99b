"""The Paceline operator: turns RunnerGroups into runners."""
