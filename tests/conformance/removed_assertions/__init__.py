"""What the saboteurs notice of the assertions of the scenarios: each is removed for once, and a test must fail.

An assertion is a part of what a scenario demands: a member of the `and` of a judgement, a component of a comparison of
tuples in it, a link of a chained comparison, or a prerequisite. Removed means: in a copy of the scenarios it always
holds. It is noticed when a saboteur's row, which must be red, no longer is.

`python -m tests.conformance.removed_assertions` prints the table, and with `--write` keeps it in `noticed.json`.
"""
