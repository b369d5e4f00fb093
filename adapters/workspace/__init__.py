"""Looking at a tree before an agent is started in it: what would run or take effect with an ordinary launch.

The facts are data: `workspace_rules.toml` beside each adapter says which files and keys its harness obeys, and
`git_rules.toml` here says which keys of a repository's configuration run something. Nothing of the tree is executed.
"""

from checkrein.adapters.workspace.finding import Severity, WorkspaceFinding
from checkrein.adapters.workspace.rules import WorkspaceRules, load_workspace_rules

__all__ = ["Severity", "WorkspaceFinding", "WorkspaceRules", "load_workspace_rules"]
