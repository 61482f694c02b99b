"""The commands paceline and kubectl paceline."""
