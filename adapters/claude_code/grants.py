"""Which rule may be passed with an `allow_always`: one that covers this very command and nothing else.

Claude Code takes rules with an answer (`updatedPermissions`). Its own suggestions are never passed on: they hold
`setMode acceptEdits`, whole directories, prefix rules such as `touch a *`, and the destination `localSettings`, which
writes a file. What an exact rule `{toolName: "Bash", ruleContent: <the command>}` for the session does on 2.1.332 (the
rule granted with the first call, then the other calls, each judged by whether a question came):

Not asked again for the same command, and asked for every other one that was tried:

* `touch a.txt`. Asked: `touch a.txt b.txt`, `touch "a.txt"`, two blanks instead of one, `touch a.txt && touch c.txt`,
  `touch a.txt; rm -f x`, `touch a.txt > z`, `touch a.txt &`, `touch a.txt | tee q`, `FOO=1 touch a.txt`,
  `LD_PRELOAD=/x.so touch a.txt`, `(touch a.txt)`, `echo $(touch a.txt)`, `xargs touch a.txt`,
  `cd sub && touch a.txt`, and a Write.
* `touch a && touch b`. Asked: each half alone, the halves swapped, `;` for `&&`, a third command behind them.
* two commands on two lines. Asked: each alone, `&&` for the line feed, another second line.
* `python3 -c "print(40+2)"`, `curl URL`, `touch {p,q}`, a command with U+2028.

Not asked although it is more than the same call (`touch a.txt` granted): the same command behind `timeout 5`, `nohup`,
`time` or a backslash, with a comment, inside `if true; then ...; fi`, joined with a command that needs no question
(`ls && touch a.txt`), with `run_in_background` or `dangerouslyDisableSandbox`, by the tool `Monitor` (it shares the
rules of Bash), and after a `cd` (which asks by itself when it leaves the workspace).

Asked again although the rule was granted, because another check asks: `>` and heredocs, `?`, `[ab]`, `$HOME`, a line
continuation, `cd sub && ...`, and `git status` (the `ask` rule of the launch wins).

Wider, so no rule is passed: with `touch 'a*'` granted, `touch 'ab'` and `touch 'a' 'b'` ran unasked while the command
itself was asked again; `touch a:*` let `touch a b` run; `\\*` matches nothing; a rule without content lets every Bash
command run.

For other tools no exact rule exists: `Edit(//path)` is a pattern that covers Write as well, `Write(...)` does nothing,
`Read(//path)` lets Bash read the file too, and WebFetch rules name whole hosts. What gets no rule here is remembered by
the shared approval desk instead, for the rest of the turn.
"""

from __future__ import annotations

from checkrein.adapters.claude_code.messages import Ask
from checkrein.adapters.native import ToolCall

#: Characters that have a meaning in a rule: a star widens it, a backslash quotes.
RULE_SYNTAX = frozenset("*\\")


def exact_rules(ask: Ask, call: ToolCall) -> list[dict[str, object]]:
    """The permission updates for an `allow_always` of this call; empty when no exact rule exists.

    Args:
        ask: the question as the harness put it.
        call: the same in neutral words.
    """
    command = call.command or ""
    exact = call.name == "Bash" and bool(command.strip()) and not RULE_SYNTAX & set(command)
    if not exact or ask.suppress_always_allow_rule:
        return []
    rule = {"toolName": call.name, "ruleContent": command}
    return [{"type": "addRules", "rules": [rule], "behavior": "allow", "destination": "session"}]
