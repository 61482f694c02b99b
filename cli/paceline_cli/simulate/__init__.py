"""`paceline simulate`: what an autoscaling block would have cost, and how long jobs would have waited."""
