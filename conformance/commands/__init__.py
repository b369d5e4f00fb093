"""The subcommands of `checkrein`, one module each."""
