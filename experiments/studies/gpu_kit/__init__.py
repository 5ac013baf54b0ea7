"""A folder that is carried to a machine with a GPU and no network, and read when it is back."""
