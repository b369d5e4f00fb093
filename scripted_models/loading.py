"""Strict loading of scripts from YAML: every mistake is one error with file, line and what is allowed."""

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import TypeVar, cast

import yaml
from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from checkrein.scripted_models.errors import ScriptError
from checkrein.scripted_models.gates import Gate
from checkrein.scripted_models.held_tools import HeldTool
from checkrein.scripted_models.reply import (
    Element,
    Usage,
    cut,
    edit_file,
    fail,
    hold,
    pause,
    raw,
    read_file,
    say,
    shell,
    silence,
    think,
    tool,
    write_file,
)
from checkrein.scripted_models.script import Script
from checkrein.scripted_models.seeing import ResultExpectation, Sees, sees

T = TypeVar("T")


def load_scripts(source: str | Path) -> dict[str, Script]:
    """Load the scripts of a YAML file (or of YAML text, which holds a line break), by name.

    The document is one script or a list of scripts; `fixtures/schemas/script.schema.json` describes it. Where a
    text is expected the characters count as written: `say: no` says "no".
    Raises ScriptError with file, line and the allowed keys at the first mistake.
    """
    inline = isinstance(source, str) and "\n" in source
    file = "<text>" if inline else str(source)
    try:
        text = str(source) if inline else Path(source).read_text(encoding="utf-8")
        root = yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark is not None else 1
        raise ScriptError(f"not YAML: {error.problem}", file=file, line=line) from None
    except OSError as error:
        raise ScriptError(f"the script cannot be read: {error}") from None
    if root is None:
        raise ScriptError("the document is empty", file=file, line=1)
    reader = _Reader(file)
    scripts: dict[str, Script] = {}
    for node in root.value if isinstance(root, SequenceNode) else [root]:
        script = reader.script(node)
        if script.name in scripts:
            reader.wrong(node, f"there are two scripts named {script.name!r}")
        scripts[script.name] = script
    return scripts


class _Reader:
    """Reads YAML nodes, which know their lines, into scripts."""

    def __init__(self, file: str) -> None:
        self._file = file
        self._script = Script()

    def wrong(self, node: Node, message: str) -> ScriptError:
        """Raise the error at a node's line."""
        raise ScriptError(message, file=self._file, line=node.start_mark.line + 1)

    def script(self, node: Node) -> Script:
        allowed = ("name", "side", "count_tokens", "gates", "tools", "lanes")
        keys = self._mapping(node, "a script", allowed, required=("name", "lanes"))
        script = self._script = Script(
            name=self._text(keys["name"]),
            side=self._text(keys["side"]) if "side" in keys else None,
            count_tokens=self._whole(keys["count_tokens"]) if "count_tokens" in keys else 1000,
        )
        for name, options in self._named(keys.get("gates")):
            given = self._mapping(options, f"gate {name!r}", ("never_opened",))
            flags = self._flags(given)
            self._made(options, partial(script.gate, name, **flags))
        for name, options in self._named(keys.get("tools")):
            given = self._mapping(options, f"held tool {name!r}", ("ignore_signals", "never_started"))
            flags = self._flags(given)
            self._made(options, partial(script.held_tool, name, **flags))
        for name, steps in self._named(keys["lanes"]):
            for step in self._sequence(steps, f"the steps of lane {name!r}"):
                self._step(name, step)
        return script

    def _step(self, lane: str, node: Node) -> None:
        keys = self._mapping(node, "a step", ("sees", "reply", "usage", "times"), required=("reply",))
        reply = [self._element(item) for item in self._sequence(keys["reply"], "a reply")]
        expected = self._sees(keys["sees"]) if "sees" in keys else None
        times = self._whole(keys["times"]) if "times" in keys else 1
        usage = self._usage(keys["usage"]) if "usage" in keys else None
        self._made(node, lambda: self._script.lane(lane, reply, sees=expected, usage=usage, times=times))

    def _usage(self, node: Node) -> Usage:
        keys = self._mapping(node, "usage", ("input", "output", "cached", "reasoning"))
        return Usage(**{key: self._whole(value) for key, value in keys.items()})

    def _element(self, node: Node) -> Element:
        """Read one verb: a mapping with a single key."""
        keys = self._mapping(node, "a reply verb", tuple(_VERBS))
        if len(keys) != 1:
            self.wrong(node, f"one key per list item: one verb, not {', '.join(keys) or 'none'}")
        [(verb, value)] = keys.items()
        return self._made(value, lambda: _VERBS[verb](self, value))

    def say(self, node: Node) -> Element:
        return say(self._text(node))

    def think(self, node: Node) -> Element:
        return think(self._text(node))

    def hold(self, node: Node) -> Element:
        return hold(self._gate(node))

    def pause(self, node: Node) -> Element:
        return pause(self._number(node))

    def cut(self, node: Node) -> Element:
        return cut(self._text(node))

    def raw(self, node: Node) -> Element:
        if isinstance(node, ScalarNode):
            return raw(self._text(node))
        keys = self._mapping(node, "raw", ("data", "content_type"), required=("data",))
        data = self._text(keys["data"])
        return (
            raw(data, content_type=self._text(keys["content_type"])) if "content_type" in keys else raw(data)
        )

    def silence(self, node: Node) -> Element:
        self._mapping(node, "silence", ())
        return silence()

    def fail(self, node: Node) -> Element:
        keys = self._mapping(node, "fail", ("status", "headers", "times", "message"), required=("status",))
        headers = {name: self._text(value) for name, value in self._named(keys.get("headers"))}
        return fail(
            self._whole(keys["status"]),
            headers=headers,
            times=self._whole(keys["times"]) if "times" in keys else 1,
            message=self._text(keys["message"]) if "message" in keys else "scripted failure",
        )

    def tool(self, node: Node) -> Element:
        keys = self._mapping(
            node, "tool", ("id", "name", "input", "hold_in_arguments"), required=("name", "input")
        )
        value = self._plain(keys["input"])
        if not isinstance(value, (dict, str)):
            self.wrong(keys["input"], "a tool's input is a mapping, or a text for a custom tool")
        given = cast("Mapping[str, object] | str", value)
        id, gate = self._call_options(keys)
        return tool(self._text(keys["name"]), given, id=id, hold_in_arguments=gate)

    def shell(self, node: Node) -> Element:
        if isinstance(node, ScalarNode):
            return shell(self._text(node))
        keys = self._mapping(node, "shell", ("command", "held", "id", "hold_in_arguments"))
        if ("command" in keys) == ("held" in keys):
            self.wrong(node, "shell needs either command or held")
        line = self._held(keys["held"]) if "held" in keys else self._text(keys["command"])
        id, gate = self._call_options(keys)
        return shell(line, id=id, hold_in_arguments=gate)

    def write_file(self, node: Node) -> Element:
        keys = self._mapping(node, "write_file", ("path", "text", *_CALL), required=("path", "text"))
        id, gate = self._call_options(keys)
        return write_file(self._text(keys["path"]), self._text(keys["text"]), id=id, hold_in_arguments=gate)

    def edit_file(self, node: Node) -> Element:
        keys = self._mapping(
            node, "edit_file", ("path", "old", "new", *_CALL), required=("path", "old", "new")
        )
        id, gate = self._call_options(keys)
        old, new = self._text(keys["old"]), self._text(keys["new"])
        return edit_file(self._text(keys["path"]), old, new, id=id, hold_in_arguments=gate)

    def read_file(self, node: Node) -> Element:
        keys = self._mapping(node, "read_file", ("path", *_CALL), required=("path",))
        id, gate = self._call_options(keys)
        return read_file(self._text(keys["path"]), id=id, hold_in_arguments=gate)

    def _call_options(self, keys: Mapping[str, Node]) -> tuple[str | None, Gate | None]:
        id = self._text(keys["id"]) if "id" in keys else None
        return id, self._gate(keys["hold_in_arguments"]) if "hold_in_arguments" in keys else None

    def _sees(self, node: Node) -> Sees:
        plain = ("user", "steer", "assistant", "system", "assistant_lacks", "lacks", "once", "no_result")
        keys = self._mapping(node, "sees", (*plain, "result"))
        groups = {key: self._texts(value) for key, value in keys.items() if key != "result"}
        results = {call: self._result(value) for call, value in self._named(keys.get("result"))}
        return sees(**groups, result=results)

    def _result(self, node: Node) -> ResultExpectation:
        if not isinstance(node, MappingNode):
            return sees.has(self._texts(node))
        keys = self._mapping(node, "a result", ("error", "has"))
        error = self._flag(keys["error"]) if "error" in keys else None
        return ResultExpectation(error=error, has=self._texts(keys["has"]) if "has" in keys else ())

    def _gate(self, node: Node) -> Gate:
        name = self._text(node)
        gates = self._script.gates
        if name not in gates:
            self.wrong(node, f"unknown gate {name!r}; declared under gates: {', '.join(gates) or 'none'}")
        return gates[name]

    def _held(self, node: Node) -> HeldTool:
        name = self._text(node)
        tools = self._script.held_tools
        if name not in tools:
            self.wrong(
                node, f"unknown held tool {name!r}; declared under tools: {', '.join(tools) or 'none'}"
            )
        return tools[name]

    def _made(self, node: Node, make: Callable[[], T]) -> T:
        """Give an error of the script model the line it comes from."""
        try:
            return make()
        except ScriptError as error:
            if error.line is not None:
                raise
            raise ScriptError(error.message, file=self._file, line=node.start_mark.line + 1) from None

    def _mapping(
        self, node: Node, what: str, allowed: tuple[str, ...], *, required: tuple[str, ...] = ()
    ) -> dict[str, Node]:
        """Return a mapping's values by key; no key may be unknown, missing or given twice."""
        if isinstance(node, ScalarNode) and node.tag == "tag:yaml.org,2002:null":
            node = MappingNode(node.tag, [], node.start_mark, node.end_mark)
        keys: dict[str, Node] = {}
        for name, value in self._pairs(node, what):
            key = name.value
            if key not in allowed:
                self.wrong(name, f"unknown key {key!r} in {what}; allowed: {', '.join(allowed) or 'none'}")
            if key in keys:
                self.wrong(name, f"key {key!r} is given twice in {what}")
            keys[key] = value
        if missing := [key for key in required if key not in keys]:
            self.wrong(node, f"{what} lacks {', '.join(missing)}; allowed: {', '.join(allowed)}")
        return keys

    def _named(self, node: Node | None) -> list[tuple[str, Node]]:
        """Return a mapping from free names."""
        if node is None:
            return []
        pairs = self._pairs(node, "this")
        names = [name.value for name, _ in pairs]
        for place, (name, _) in enumerate(pairs):
            if name.value in names[:place]:
                self.wrong(name, f"key {name.value!r} is given twice")
        return [(name.value, value) for name, value in pairs]

    def _pairs(self, node: Node, what: str) -> list[tuple[ScalarNode, Node]]:
        if not isinstance(node, MappingNode):
            raise self.wrong(node, f"{what} must be a mapping")
        pairs: list[tuple[ScalarNode, Node]] = []
        for name, value in node.value:
            if not isinstance(name, ScalarNode):
                raise self.wrong(node, f"a key of {what} is not a text")
            pairs.append((name, value))
        return pairs

    def _sequence(self, node: Node, what: str) -> list[Node]:
        if not isinstance(node, SequenceNode):
            raise self.wrong(node, f"{what} must be a list")
        return list(node.value)

    def _flags(self, keys: Mapping[str, Node]) -> dict[str, bool]:
        return {key: self._flag(value) for key, value in keys.items()}

    def _plain(self, node: Node) -> object:
        """Return a node's value as plain data."""
        # types-PyYAML leaves the node's type open.
        return yaml.safe_load(yaml.serialize(node))  # pyright: ignore[reportUnknownMemberType]

    def _text(self, node: Node) -> str:
        if not isinstance(node, ScalarNode) or node.tag == "tag:yaml.org,2002:null":
            raise self.wrong(node, "a text is expected here")
        return str(node.value)

    def _texts(self, node: Node) -> tuple[str, ...]:
        if isinstance(node, SequenceNode):
            return tuple(self._text(item) for item in self._sequence(node, "this"))
        return (self._text(node),)

    def _whole(self, node: Node) -> int:
        value = self._plain(node)
        if not isinstance(value, int) or isinstance(value, bool):
            raise self.wrong(node, "a whole number is expected here")
        return value

    def _number(self, node: Node) -> float:
        value = self._plain(node)
        if not isinstance(value, (int, float)) or isinstance(value, bool):
            raise self.wrong(node, "a number is expected here")
        return float(value)

    def _flag(self, node: Node) -> bool:
        value = self._plain(node)
        if not isinstance(value, bool):
            raise self.wrong(node, "true or false is expected here")
        return value


_CALL = ("id", "hold_in_arguments")
_VERBS: dict[str, Callable[[_Reader, Node], Element]] = {
    "say": _Reader.say,
    "think": _Reader.think,
    "tool": _Reader.tool,
    "shell": _Reader.shell,
    "write_file": _Reader.write_file,
    "edit_file": _Reader.edit_file,
    "read_file": _Reader.read_file,
    "hold": _Reader.hold,
    "pause": _Reader.pause,
    "fail": _Reader.fail,
    "cut": _Reader.cut,
    "raw": _Reader.raw,
    "silence": _Reader.silence,
}
