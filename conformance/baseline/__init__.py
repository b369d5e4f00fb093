"""Known failures as data, one file per harness; `known_failures` reads them."""
