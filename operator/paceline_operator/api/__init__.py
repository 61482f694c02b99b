"""The API of Paceline as data: one module per version, and the parts that its objects are made of."""
