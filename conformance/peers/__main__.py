"""`python -I -m checkrein.conformance.peers ORDER -- REAL ARGV`; ORDER is JSON, see `order`."""

from __future__ import annotations

import sys

from checkrein.conformance.peers.kinds import KINDS
from checkrein.conformance.peers.order import decode_order
from checkrein.conformance.peers.relay import Relay


def main() -> int:
    """Run the real program with the peer in front of it; returns its exit status."""
    _, text, dashes, *argv = sys.argv
    if dashes != "--" or not argv:
        raise SystemExit("usage: python -m checkrein.conformance.peers ORDER -- PROGRAM [ARGUMENT ...]")
    order = decode_order(text)
    relay = Relay(argv)
    return relay.run(KINDS[order.kind](order, relay))


if __name__ == "__main__":
    sys.exit(main())
