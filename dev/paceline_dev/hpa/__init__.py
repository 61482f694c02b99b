"""Golden cases for scaling, answered by the HPA itself."""
