"""Driving one turn from a terminal: what the agent does on the screen, approvals at the keyboard, ctrl-c to stop."""

from checkrein.adapters.driver.drive import DriveOrder, drive

__all__ = ["DriveOrder", "drive"]
