"""The dashboard at `/`: a page of plain files, and the routes that it asks. None of it is in the API's description."""
