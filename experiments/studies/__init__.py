"""Scripts behind the figures of README and docs; nothing imports them."""
