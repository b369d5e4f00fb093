"""The assertions of scenarios, found in their source, and the source without one of them."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

_Function = ast.FunctionDef | ast.AsyncFunctionDef

#: Makes an expression of one.
_Make = Callable[[ast.expr], ast.expr]

#: The clauses that the scenarios of a module declare, by the names of their functions.
Declared = Mapping[str, tuple[str, ...]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Assertion:
    """A part of what a scenario demands.

    Args:
        module: the file that it stands in.
        number: of it, in its module.
        clauses: that it may turn; more than one where a judgement is written once for several.
        text: of it, as source.
        is_prerequisite: without it the clauses are not testable.
    """

    module: Path
    number: int
    line: int
    clauses: tuple[str, ...]
    text: str
    is_prerequisite: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class _Part:
    """Something that must hold for an expression to hold.

    Args:
        remove: takes it out of its tree.
        replace: puts what is made of it in its place.
    """

    line: int
    text: str
    remove: Callable[[], None]
    replace: Callable[[_Make], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Found:
    """A part in a syntax tree.

    Args:
        function: in which it is judged.
        clause: of the judgement, as written; None for a prerequisite.
        is_beside: the part stands in the call that names the clause.
    """

    function: _Function
    clause: ast.expr | None
    part: _Part
    is_beside: bool


@dataclass(frozen=True, slots=True)
class _Slot:
    """Where an expression stands, so that another can be put in its place."""

    expression: ast.expr
    put: Callable[[ast.expr], None]


def find_assertions(modules: Mapping[Path, Declared]) -> list[Assertion]:
    """All assertions of these modules, in their order.

    Args:
        modules: source files. One that declares nothing judges for the others.
    """
    trees = {module: ast.parse(module.read_text(encoding="utf-8")) for module in modules}
    calls = _calls(trees.values())
    everything = {name: clauses for declared in modules.values() for name, clauses in declared.items()}
    found: list[Assertion] = []
    for module, tree in trees.items():
        declared = modules[module] or everything
        of_module = tuple(clause for clauses in declared.values() for clause in clauses)
        for number, each in enumerate(_found(tree)):
            candidates = declared.get(each.function.name, of_module)
            patterns = {"*"} if each.clause is None else _patterns(each.clause, each.function, calls)
            found.append(
                Assertion(
                    module=module,
                    number=number,
                    line=each.part.line,
                    clauses=tuple(c for c in candidates if any(fnmatchcase(c, each) for each in patterns)),
                    text=each.part.text,
                    is_prerequisite=each.clause is None,
                )
            )
    return found


def without(source: str, number: int) -> str:
    """The source of a module in which the assertion of this number always holds."""
    tree = ast.parse(source)
    list(_found(tree))[number].part.remove()
    return ast.unparse(ast.fix_missing_locations(tree))


def noting(source: str, note: str) -> str:
    """The source of a module in which every assertion always holds, and says whether it would have.

    Args:
        note: the name of a function that is called with the number of the assertion, whether it holds, and the
            clause if one is named beside it, else None; it must return True.
    """
    tree = ast.parse(source)
    for number, each in enumerate(list(_found(tree))):
        clause = each.clause if each.is_beside else None
        beside = clause or ast.Constant(value=None)
        each.part.replace(
            lambda holds, number=number, beside=beside: ast.Call(
                func=ast.Name(id=note, ctx=ast.Load()),
                args=[ast.Constant(value=number), holds, beside],
                keywords=[],
            )
        )
    return ast.unparse(ast.fix_missing_locations(tree))


def _found(tree: ast.Module) -> Iterator[_Found]:
    for function in _functions(tree):
        for node in ast.walk(function):
            if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.args):
                continue
            match ast.unparse(node.func).removeprefix("self._"):
                case "arena.judge":
                    for keyword in node.keywords:
                        if keyword.arg == "holds":
                            beside = not isinstance(keyword.value, ast.Name)
                            for part in _parts(_value_slot(keyword), function):
                                yield _Found(
                                    function=function, clause=node.args[0], part=part, is_beside=beside
                                )
                case "arena.require":
                    for part in _parts(_item_slot(node.args, 0), function):
                        yield _Found(function=function, clause=None, part=part, is_beside=False)
                case _:
                    pass


def _functions(tree: ast.Module) -> Iterator[_Function]:
    """The functions of a module and the methods of its classes."""
    for node in tree.body:
        for inner in node.body if isinstance(node, ast.ClassDef) else [node]:
            if isinstance(inner, _Function):
                yield inner


def _value_slot(owner: ast.keyword | ast.Assign) -> _Slot:
    def put(new: ast.expr) -> None:
        owner.value = new

    return _Slot(owner.value, put)


def _item_slot(items: list[ast.expr], place: int) -> _Slot:
    def put(new: ast.expr) -> None:
        items[place] = new

    return _Slot(items[place], put)


def _parts(slot: _Slot, function: _Function) -> Iterator[_Part]:
    """What must hold for an expression to hold; nothing for one that holds as it is."""
    match slot.expression:
        case ast.Constant():
            return
        case ast.BoolOp(op=ast.And(), values=values):
            for place, value in enumerate(values):
                if not _is_guard(value, values[place + 1 :]):
                    yield from _parts(_item_slot(values, place), function)
        case ast.Compare(ops=[ast.Eq()], left=ast.Tuple(elts=left), comparators=[ast.Tuple(elts=right)]) if (
            len(left) == len(right) > 1
        ):
            for place in range(len(left)):
                yield _component(left, right, place)
        case ast.Compare(ops=[_, _, *_]) as chain:
            yield from _links(chain, slot)
        case ast.Name(id=name) if (value := _conjunction(name, function)) is not None:
            yield from _parts(value, function)
        case expression:
            yield _Part(
                line=expression.lineno,
                text=ast.unparse(expression),
                remove=lambda: slot.put(ast.Constant(value=True)),
                replace=lambda make: slot.put(make(expression)),
            )


def _is_guard(value: ast.expr, behind: list[ast.expr]) -> bool:
    """Whether what stands behind it cannot be evaluated without it: it belongs to that, and demands nothing itself."""
    match value:
        case ast.Compare(left=ast.Name(id=name), ops=[ast.IsNot()], comparators=[ast.Constant(value=None)]):
            pass
        case ast.UnaryOp(
            op=ast.Not(), operand=ast.Call(func=ast.Name("isinstance"), args=[ast.Name(id=name), _])
        ):
            pass
        case ast.Call(func=ast.Name("bool"), args=[ast.Name(id=name)]):
            pass
        case _:
            return False
    for node in (inner for other in behind for inner in ast.walk(other)):
        match node:
            case ast.Attribute(value=ast.Name(id=used)) | ast.Subscript(value=ast.Name(id=used)) if (
                used == name
            ):
                return True
            case ast.Compare(ops=[ast.Lt() | ast.LtE(), *_], comparators=[ast.Name(id=used), *_]) if (
                used == name
            ):
                return True
            case _:
                pass
    return False


def _component(left: list[ast.expr], right: list[ast.expr], place: int) -> _Part:
    """One of the components of two tuples that must be equal."""

    def remove() -> None:
        del left[place], right[place]

    def replace(make: _Make) -> None:
        same = ast.Compare(left=left[place], ops=[ast.Eq()], comparators=[right[place]])
        left[place], right[place] = make(same), ast.Constant(value=True)

    text = f"{ast.unparse(left[place])} == {ast.unparse(right[place])}"
    return _Part(line=left[place].lineno, text=f"({text}) of {len(left)}", remove=remove, replace=replace)


def _links(chain: ast.Compare, slot: _Slot) -> Iterator[_Part]:
    """The comparisons of a chain."""
    sides = [chain.left, *chain.comparators]
    links: list[ast.expr] = [
        ast.Compare(left=left, ops=[operator], comparators=[right])
        for left, operator, right in zip(sides, chain.ops, chain.comparators, strict=False)
    ]
    for place, link in enumerate(links):

        def put(new: ast.expr, place: int = place) -> None:
            links[place] = new
            slot.put(ast.BoolOp(op=ast.And(), values=links))

        yield _Part(
            line=chain.lineno,
            text=ast.unparse(link),
            remove=lambda put=put: put(ast.Constant(value=True)),
            replace=lambda make, put=put, link=link: put(make(link)),
        )


def _conjunction(name: str, function: _Function) -> _Slot | None:
    """The `and` that a variable of the function stands for, if it is assigned once."""
    stores = [node for node in ast.walk(function) if isinstance(node, ast.Name) and node.id == name]
    if sum(isinstance(node.ctx, ast.Store) for node in stores) != 1:
        return None
    for node in ast.walk(function):
        match node:
            case ast.Assign(targets=[ast.Name(id=target)], value=ast.BoolOp(op=ast.And())) if target == name:
                return _value_slot(node)
            case _:
                pass
    return None


_Calls = dict[str, list[tuple[ast.Call, _Function]]]


def _calls(trees: Iterable[ast.Module]) -> _Calls:
    """The calls of functions by their plain names, each with the function that it stands in."""
    found: _Calls = {}
    for tree in trees:
        for function in _functions(tree):
            for node in ast.walk(function):
                if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                    found.setdefault(node.func.id, []).append((node, function))
    return found


def _patterns(clause: ast.expr, function: _Function, calls: _Calls) -> set[str]:
    """Shell patterns of the clauses that an expression may name."""
    match clause:
        case ast.Constant(value=str(text)):
            return {text}
        case ast.JoinedStr(values=values):
            return {"".join(str(v.value) if isinstance(v, ast.Constant) else "*" for v in values)}
        case ast.Name(id=name):
            names = [argument.arg for argument in function.args.args]
            if name not in names:
                return {"*"}
            place = names.index(name)
            given = [
                (call.args[place], at) for call, at in calls.get(function.name, []) if len(call.args) > place
            ]
            return {pattern for argument, at in given for pattern in _patterns(argument, at, calls)}
        case ast.Call(args=[argument]):
            return {f"*{pattern}" for pattern in _patterns(argument, function, calls)}
        case _:
            return {"*"}
