"""Scripts in YAML are the same as in Python, and every mistake has a line and says what is allowed."""

from __future__ import annotations

import json
from importlib.resources import files
from pathlib import Path

import jsonschema
import pytest
import yaml

from checkrein.scripted_models import (
    HeldTool,
    Script,
    ScriptError,
    Usage,
    cut,
    edit_file,
    fail,
    hold,
    load_scripts,
    pause,
    raw,
    read_file,
    say,
    sees,
    shell,
    silence,
    think,
    tool,
    write_file,
)

YAML = """\
- name: everything
  side: a title
  count_tokens: 7
  gates:
    mid:
    never: {never_opened: true}
  tools:
    build: {ignore_signals: true}
    bad: {never_started: true}
  lanes:
    main:
      - sees:
          user: [move the, retry]
          steer: keep it
          lacks: nope
          once: keep it
          system: s
          assistant: a
          assistant_lacks: b
          no_result: [x]
          result:
            c1: built ok
            c2: {error: true, has: [nope, way]}
            c3: {error: false}
        reply:
          - think: hm
          - say: Running
          - hold: mid
          - pause: 0.5
          - shell: {held: build, id: c1}
          - shell: ls -la
          - shell: {command: pwd, hold_in_arguments: never}
          - tool: {name: Bash, input: {command: ls, n: [1, null, 2.5, true]}, id: t}
          - tool: {name: apply_patch, input: "*** Begin Patch"}
          - write_file: {path: a, text: "b\\n", id: w}
          - edit_file: {path: a, old: b, new: c}
          - read_file: {path: a}
        usage: {input: 1, output: 2, cached: 1, reasoning: 2}
      - reply: [{fail: {status: 529, times: 2, headers: {retry-after: "1"}, message: busy}}]
      - reply: [{raw: "event: x\\n"}, {raw: {data: "<html>", content_type: text/html}}, {cut: reset}]
        times: 3
    agent:1:
      - reply: [{silence: }]
- name: other
  lanes: {}
"""


def in_python() -> Script:
    script = Script(name="everything", side="a title", count_tokens=7)
    mid, never = script.gate("mid"), script.gate("never", never_opened=True)
    build = script.held_tool("build", ignore_signals=True)
    script.held_tool("bad", never_started=True)
    script.main(
        [
            think("hm"),
            say("Running"),
            hold(mid),
            pause(0.5),
            shell(build, id="c1"),
            shell("ls -la"),
            shell("pwd", hold_in_arguments=never),
            tool("Bash", {"command": "ls", "n": [1, None, 2.5, True]}, id="t"),
            tool("apply_patch", "*** Begin Patch"),
            write_file("a", "b\n", id="w"),
            edit_file("a", "b", "c"),
            read_file("a"),
        ],
        sees=sees(
            user=["move the", "retry"],
            steer="keep it",
            lacks="nope",
            once="keep it",
            system="s",
            assistant="a",
            assistant_lacks="b",
            no_result=["x"],
            result={"c1": "built ok", "c2": sees.error(["nope", "way"]), "c3": sees.ok()},
        ),
        usage=Usage(input=1, output=2, cached=1, reasoning=2),
    )
    script.main([fail(529, times=2, headers={"retry-after": "1"}, message="busy")])
    script.main([raw(b"event: x\n"), raw("<html>", content_type="text/html"), cut("reset")], times=3)
    script.lane("agent:1", [silence()])
    return script


def told(script: Script) -> str:
    """Everything that a script says; where its held tools' socket lies is not part of that."""

    def about(held: HeldTool) -> tuple[object, ...]:
        return held.name, held.ignore_signals, held.never_started, held.command

    lines: list[object] = [script.name, script.side, script.count_tokens]
    lines += [(gate.name, gate.never_opened) for gate in script.gates.values()]
    lines += [about(held) for held in script.held_tools.values()]
    lines += [step for lane in script.lanes for step in script.steps(lane)]
    return "\n".join(map(repr, lines)).replace(str(script.socket_path), "SOCKET")


def test_yaml_and_python_make_the_same_script() -> None:
    scripts = load_scripts(YAML)
    assert list(scripts) == ["everything", "other"]
    assert told(scripts["everything"]) == told(in_python())


def test_a_file_is_read_like_text(tmp_path: Path) -> None:
    path = tmp_path / "scripts.yaml"
    path.write_text(YAML, encoding="utf-8")
    assert told(load_scripts(path)["everything"]) == told(in_python())
    assert told(load_scripts(str(path))["everything"]) == told(in_python())


def test_a_text_needs_no_quotes_also_if_yaml_has_another_idea_of_it() -> None:
    [step] = load_scripts("name: s\nlanes: {main: [{reply: [{say: no}, {say: 2026-11-29}]}]}\n")["s"].steps()
    assert step.reply == (say("no"), say("2026-11-29"))


def test_a_single_script_needs_no_list() -> None:
    assert list(load_scripts("name: alone\nlanes: {}\n")) == ["alone"]


def objections(document: object) -> int:
    """How many things the schema has against a document."""
    errors = schema().iter_errors(document)  # pyright: ignore[reportUnknownMemberType, reportArgumentType] loose stubs
    return len(list(errors))


def schema() -> jsonschema.Draft202012Validator:
    text = files("checkrein.fixtures").joinpath("schemas/script.schema.json").read_text(encoding="utf-8")
    jsonschema.Draft202012Validator.check_schema(json.loads(text))
    return jsonschema.Draft202012Validator(json.loads(text))


def test_the_schema_accepts_what_the_loader_accepts() -> None:
    assert objections(yaml.safe_load(YAML)) == 0


STEP = "name: s\nlanes:\n  main:\n"
#: The script, the line of the mistake, and what the error says.
MISTAKES: dict[str, tuple[str, int, str]] = {
    "a script's key": (
        "name: s\nsied: x\nlanes: {}\n",
        2,
        "unknown key 'sied' in a script; allowed: name, side",
    ),
    "a step's key": (STEP + "    - repl: []\n", 4, "allowed: sees, reply, usage, times"),
    "a verb": (
        STEP + "    - reply:\n        - sya: x\n",
        5,
        "unknown key 'sya' in a reply verb; allowed: say, think",
    ),
    "two verbs in one item": (
        STEP + "    - reply:\n        - {say: x, think: y}\n",
        5,
        "one verb, not say, think",
    ),
    "no verb": (STEP + "    - reply:\n        - {}\n", 5, "one verb, not none"),
    "a sees key": (
        STEP + "    - sees: {usr: x}\n      reply: []\n",
        4,
        "unknown key 'usr' in sees; allowed: user",
    ),
    "a usage key": (STEP + "    - reply: []\n      usage: {inptu: 1}\n", 5, "allowed: input, output"),
    "a result key": (
        STEP + "    - sees: {result: {c: {eror: true}}}\n      reply: []\n",
        4,
        "allowed: error, has",
    ),
    "a tool key": (
        STEP + "    - reply:\n        - tool: {nam: x, input: {}}\n",
        5,
        "unknown key 'nam' in tool",
    ),
    "a missing key": (STEP + "    - reply:\n        - tool: {name: x}\n", 5, "tool lacks input"),
    "a missing reply": (STEP + "    - times: 2\n", 4, "a step lacks reply"),
    "an unknown gate": (STEP + "    - reply:\n        - hold: mid\n", 5, "unknown gate 'mid'"),
    "an unknown held tool": (STEP + "    - reply:\n        - shell: {held: b}\n", 5, "unknown held tool 'b'"),
    "neither command nor held": (
        STEP + "    - reply:\n        - shell: {id: b}\n",
        5,
        "either command or held",
    ),
    "an unknown lane": (
        "name: s\nlanes:\n  mian:\n    - reply: []\n",
        4,
        "unknown lane 'mian'; allowed: main",
    ),
    "an unknown cut": (STEP + "    - reply:\n        - cut: half\n", 5, "allowed: clean, reset"),
    "something after the end": (
        STEP + "    - reply: [{cut: clean}, {say: x}]\n",
        4,
        "nothing can follow cut",
    ),
    "a text for a number": (STEP + "    - reply:\n        - pause: long\n", 5, "a number is expected"),
    "a text for a count": (STEP + "    - reply: []\n      times: two\n", 5, "a whole number is expected"),
    "a text for a flag": (
        "name: s\ngates:\n  g: {never_opened: maybe}\nlanes: {}\n",
        3,
        "true or false is expected",
    ),
    "a mapping for a text": (STEP + "    - reply:\n        - say: {x: y}\n", 5, "a text is expected"),
    "nothing for a text": (STEP + "    - reply:\n        - say:\n", 5, "a text is expected"),
    "a number for an input": (
        STEP + "    - reply:\n        - tool: {name: x, input: 5}\n",
        5,
        "is a mapping, or a text",
    ),
    "a text for a list": ("name: s\nlanes:\n  main: x\n", 3, "must be a list"),
    "a text for a mapping": ("name: s\nlanes: x\nside: t\n", 2, "must be a mapping"),
    "a key twice": ("name: s\nname: t\nlanes: {}\n", 2, "key 'name' is given twice"),
    "a gate twice": ("name: s\ngates:\n  g:\n  g:\nlanes: {}\n", 4, "'g' is given twice"),
    "a call id twice": (
        STEP + "    - reply: [{shell: {command: a, id: c}}, {shell: {command: b, id: c}}]\n",
        4,
        "twice",
    ),
    "a script name twice": ("- {name: s, lanes: {}}\n- {name: s, lanes: {}}\n", 2, "two scripts named 's'"),
    "no YAML": ("name: [\nx", 2, "not YAML"),
    "nothing": ("\n", 1, "the document is empty"),
}


@pytest.mark.parametrize("mistake", sorted(MISTAKES))
def test_a_mistake_is_one_error_with_its_line(mistake: str) -> None:
    text, line, message = MISTAKES[mistake]
    with pytest.raises(ScriptError) as caught:
        load_scripts(text)
    assert message in str(caught.value)
    assert str(caught.value).startswith(f"<text>, line {line}: ")
    assert caught.value.line == line


#: Mistakes in the sense of a script, which no schema of its form can know.
BEYOND_A_SCHEMA = {
    "a call id twice",
    "a gate twice",
    "a key twice",
    "a script name twice",
    "an unknown gate",
    "an unknown held tool",
    "no YAML",
    "something after the end",
}


@pytest.mark.parametrize("mistake", sorted(MISTAKES.keys() - BEYOND_A_SCHEMA))
def test_the_schema_rejects_the_same_mistake(mistake: str) -> None:
    assert objections(yaml.safe_load(MISTAKES[mistake][0]))


def test_the_error_of_a_file_names_the_file(tmp_path: Path) -> None:
    path = tmp_path / "scripts.yaml"
    path.write_text("name: s\nsied: x\n", encoding="utf-8")
    with pytest.raises(ScriptError, match=r"scripts\.yaml, line 2: "):
        load_scripts(path)


def test_a_file_that_is_not_there_is_an_error() -> None:
    with pytest.raises(ScriptError, match="cannot be read"):
        load_scripts("nowhere.yaml")
