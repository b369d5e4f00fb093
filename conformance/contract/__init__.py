"""The contract as data: one YAML file per area, and the code that loads it."""
