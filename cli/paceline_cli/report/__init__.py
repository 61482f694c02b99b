"""`paceline report`: what somebody needs who helps from afar, in one file, without secrets."""
