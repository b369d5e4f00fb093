"""The relay that keeps the user's model key out of the harness.

A tool that an agent runs can read the environment of its parents, and a file in a workspace can lead a harness to
another endpoint. So where the user brings a key, the harness is given an address on loopback and a token that is worth
nothing elsewhere and nothing after the session; the key is put in here, on the way to the one host that it is for.

    harness ──token──► ClientConnection ─► Forwarding ──key──► the model's host

A login of the harness's own is left to the harness: then there is no relay.
"""

from checkrein.adapters.relay.session_relay import SessionRelay, reaching_loopback

__all__ = ["SessionRelay", "reaching_loopback"]
