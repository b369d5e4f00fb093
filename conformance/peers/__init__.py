"""Misbehaving peers: a program between driver and real CLI that passes everything on and misbehaves in one way.

`between.PeerBetween` launches it in front of any harness; `order.Order` says what it does; `kinds` holds the ways.
The program itself needs the standard library alone, so that it starts quickly.
"""
