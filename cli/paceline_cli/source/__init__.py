"""Where commands have the queue's data from: the database itself, or a gateway. The same commands, the same words."""
