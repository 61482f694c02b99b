"""What the operator decides. Pure: no kopf, no client, no database, no clock; values in, values with a reason out."""
