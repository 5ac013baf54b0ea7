"""Other people's searches, to compare ours with: run by their own code, or written from a paper.

A peer asks for the times of candidates, one by one, and what it asked for is its order. It knows
nothing of rankers, and is no choice for `tune`.
"""

from .objective import Subject
from .registry import DONORS, MODEL_LIMIT, NOTHING, PEERS, Peer, find_peer, peer_order

__all__ = [
    "DONORS",
    "MODEL_LIMIT",
    "NOTHING",
    "PEERS",
    "Peer",
    "Subject",
    "find_peer",
    "peer_order",
]
