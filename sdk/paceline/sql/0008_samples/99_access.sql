SELECT paceline.close_schema();
