"""Saboteurs: the reference agent with exactly one named defect each, which must turn exactly its own rows red.

A defect replaces one function or one text of the agent's modules, in the agent's own process; the agent itself knows of
none. Those in `driving` and `concluding`, and some in `faulting`, replace one of the adapter's side instead, in front
of the honest agent.
`python -m tests.conformance.saboteurs` prints the table.
"""
