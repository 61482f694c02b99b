"""What turns the operator: kopf watches and wakes, one loop per group looks, plans, acts and reports."""
