"""How far it scales: many devices, many candidates; programs that print figures."""
