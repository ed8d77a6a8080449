"""Read the floor plan out of ARCHITECTURE.md, read the imports out of a source tree, and list where they differ.

Every checker takes a tree and gives a list of complaints, so that the checkers themselves can be tested on bad trees.
"""

import ast
import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

PACKAGE = "periplus"
MAX_LINES = 400
FORBIDDEN_NAMES = {"common", "core", "helper", "helpers", "misc", "util", "utils"}
ENVIRONMENT_ALLOWED = {"settings", "cli"}
ENVIRONMENT_NAMES = {"environ", "environb", "getenv", "getenvb", "expanduser", "expandvars", "home"}
UNFINISHED = re.compile(r"\b(TO" r"DO|FIX" r"ME|XX" r"X)\b")


class Room(NamedTuple):
    """One row of the table in ARCHITECTURE.md."""

    name: str
    may_import: frozenset[str]
    owns: frozenset[str]


class Plan(NamedTuple):
    rooms: dict[str, Room]
    free: frozenset[str]
    """Third-party packages that every room may import."""


class Import(NamedTuple):
    """One `import` statement's target: for `from a.b import c`, module 'a.b' and name 'c'."""

    module: str
    name: str
    line: int


class Module(NamedTuple):
    path: Path
    name: str
    """Dotted, 'periplus.url.canonical'; a room's __init__ is 'periplus.url'."""
    room: str
    """First part below the package; '' for the package itself."""
    tree: ast.Module
    text: str

    def imports(self) -> Iterator[Import]:
        """Every import, wherever it stands: at the top, in a function, under TYPE_CHECKING."""
        yield from _imports(ast.walk(self.tree), self)

    def top_imports(self) -> Iterator[Import]:
        """Only those that run when the module is imported."""
        yield from _imports(iter(self.tree.body), self)

    def where(self, line: int) -> str:
        return f"{self.name}:{line}"


def _imports(nodes: Iterator[ast.AST], module: Module) -> Iterator[Import]:
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from (Import(alias.name, "", node.lineno) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                parts = module.name.split(".")
                if module.path.name != "__init__.py":
                    parts = parts[:-1]
                parts = parts[: len(parts) - node.level + 1]
                base = ".".join([*parts, base] if base else parts)
            yield from (Import(base, alias.name, node.lineno) for alias in node.names)


def read_plan(document: str) -> Plan:
    """Parse the table whose first column is 'room'. 'G' stands for the ground floor, 'everything above' for itself."""
    lines = document.splitlines()
    start = next(i for i, line in enumerate(lines) if re.match(r"\|\s*room\s*\|", line))
    ground: list[str] = []
    rooms: dict[str, Room] = {}
    for line in lines[start + 2 :]:
        if not line.startswith("|"):
            break
        names, question, imports, owns = (cell.strip() for cell in line.strip().strip("|").split("|"))
        name = names.strip("`")
        if question.startswith("*"):
            ground.append(name)
        rooms[name] = Room(name, _rights(imports, rooms, ground), frozenset(re.findall(r"`([\w.]+)`", owns)))
    free = re.search(r"Free for all rooms: (.+?)\.\s", document)
    return Plan(rooms, frozenset(re.findall(r"`(\w+)`", free.group(1))) if free else frozenset())


def _rights(cell: str, above: dict[str, Room], ground: list[str]) -> frozenset[str]:
    if cell == "everything above":
        return frozenset(above)
    words = set(re.findall(r"\w+", cell))
    return frozenset(words - {"G"} | (set(ground) if "G" in words else set()))


def read_tree(source: Path) -> list[Module]:
    """Parse every module of the package in `source`."""
    modules = []
    for path in sorted((source / PACKAGE).rglob("*.py")):
        parts = list(path.relative_to(source).with_suffix("").parts)
        if parts[-1] == "__init__":
            parts.pop()
        text = path.read_text("utf-8")
        room = parts[1] if len(parts) > 1 else ""
        modules.append(Module(path, ".".join(parts), room, ast.parse(text), text))
    return modules


def rooms_of(modules: Iterable[Module]) -> set[str]:
    return {module.room for module in modules} - {""}


def check_rooms(modules: list[Module], plan: Plan) -> list[str]:
    """Every room stands in the table, and every row of the table stands in the tree."""
    found = rooms_of(modules)
    missing = [f"{name}: in ARCHITECTURE.md, but not in the tree" for name in sorted(set(plan.rooms) - found)]
    return missing + [f"{name}: not in ARCHITECTURE.md" for name in sorted(found - set(plan.rooms))]


def check_imports(modules: list[Module], plan: Plan) -> list[str]:
    """Rooms import only the rooms they may."""
    complaints = []
    for module in modules:
        allowed = plan.rooms[module.room].may_import if module.room in plan.rooms else frozenset()
        for used in module.imports():
            room = _room_of(used)
            if room and room not in {module.room, *allowed}:
                complaints.append(f"{module.where(used.line)}: {module.room or PACKAGE} may not import {room}")
    return complaints


def _room_of(used: Import) -> str:
    """Give the room that an import enters, '' for other packages and for the package's own names."""
    parts = used.module.split(".")
    if parts[0] != PACKAGE:
        return ""
    if len(parts) > 1:
        return parts[1]
    return "" if used.name.startswith("__") else used.name


def check_doors(modules: list[Module]) -> list[str]:
    """Other rooms are entered by their door, and only for what the door offers."""
    offers = {module.name: exported(module) for module in modules}
    complaints = []
    for module in modules:
        for used in module.imports():
            room = _room_of(used)
            if not room or room == module.room:
                continue
            door = f"{PACKAGE}.{room}"
            if used.module not in (PACKAGE, door):
                complaints.append(f"{module.where(used.line)}: enters {used.module}, not its door {door}")
            elif used.module == door and used.name not in offers.get(door, set()):
                complaints.append(f"{module.where(used.line)}: {door} does not offer '{used.name}'")
    return complaints


def exported(module: Module) -> set[str]:
    """Give the names in a module's __all__; the whole public top level where there is none."""
    for node in module.tree.body:
        targets = (
            node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
        )
        if any(isinstance(target, ast.Name) and target.id == "__all__" for target in targets):
            return set(ast.literal_eval(node.value))  # type: ignore[union-attr,arg-type]
    return set()


def check_offers(modules: list[Module]) -> list[str]:
    """Every room has a door with __all__, and every name in an __all__ is there."""
    complaints = []
    for module in modules:
        if module.name.count(".") == 1 and not exported(module):
            complaints.append(f"{module.name}: has no __all__")
        inside = {m.name.rpartition(".")[2] for m in modules if m.name.rpartition(".")[0] == module.name}
        missing = exported(module) - _bound(module.tree) - inside
        complaints += [f"{module.name}: __all__ names '{name}', which is not there" for name in sorted(missing)]
    return complaints


def _bound(tree: ast.Module) -> set[str]:
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            names.add(node.name)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            names.update((alias.asname or alias.name).split(".")[0] for alias in node.names)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.add(node.id)
    return names


def find_circle(edges: dict[str, set[str]]) -> list[str]:
    """Give one circle of a directed graph, [] where there is none."""
    state: dict[str, int] = {}
    path: list[str] = []

    def visit(node: str) -> list[str]:
        state[node] = 1
        path.append(node)
        for after in sorted(edges.get(node, ())):
            if state.get(after) == 1:
                return [*path[path.index(after) :], after]
            if after not in state and (circle := visit(after)):
                return circle
        state[node] = 2
        path.pop()
        return []

    for node in sorted(edges):
        if node not in state and (circle := visit(node)):
            return circle
    return []


def check_circles(modules: list[Module]) -> list[str]:
    """No circle between rooms by any import, and none between modules by those that run at import time."""
    rooms: dict[str, set[str]] = {}
    files: dict[str, set[str]] = {}
    names = {module.name for module in modules}
    for module in modules:
        rooms.setdefault(module.room, set()).update({_room_of(used) for used in module.imports()} - {module.room, ""})
        targets = {
            t for used in module.top_imports() for t in (used.module, f"{used.module}.{used.name}") if t in names
        }
        inner = {target for target in targets if not (target == f"{PACKAGE}.{module.room}" and module.name != target)}
        files[module.name] = inner - {module.name, PACKAGE}
    return [" -> ".join(circle) for circle in (find_circle(rooms), find_circle(files)) if circle]


def check_owners(modules: list[Module], plan: Plan) -> list[str]:
    """A third-party package is imported by the one room that owns it."""
    owner = {package: room.name for room in plan.rooms.values() for package in room.owns}
    complaints = []
    for module in modules:
        for used in module.imports():
            package = used.module.split(".")[0]
            if package in (PACKAGE, "__future__") or package in sys.stdlib_module_names or package in plan.free:
                continue
            if owner.get(package) != module.room:
                complaints.append(f"{module.where(used.line)}: {package} belongs to {owner.get(package, 'nobody')}")
    return complaints


def check_double_owners(plan: Plan) -> list[str]:
    """No two rooms own the same package."""
    seen: dict[str, str] = {}
    complaints = []
    for room in plan.rooms.values():
        for package in sorted(room.owns):
            if package in seen:
                complaints.append(f"{package}: owned by {seen[package]} and {room.name}")
            seen[package] = room.name
    return complaints


def check_environment(modules: list[Module]) -> list[str]:
    """Only settings and cli read the environment or the home folder."""
    complaints = []
    for module in modules:
        if module.room in ENVIRONMENT_ALLOWED:
            continue
        for node in ast.walk(module.tree):
            if isinstance(node, ast.Attribute) and node.attr in ENVIRONMENT_NAMES and _is_system(node.value):
                complaints.append(f"{module.where(node.lineno)}: reads {node.attr}")
            elif isinstance(node, ast.ImportFrom) and node.module in ("os", "os.path"):
                names = {alias.name for alias in node.names} & ENVIRONMENT_NAMES
                complaints += [f"{module.where(node.lineno)}: reads {name}" for name in sorted(names)]
            elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "expanduser":
                complaints.append(f"{module.where(node.lineno)}: calls expanduser")
    return complaints


def _is_system(node: ast.expr) -> bool:
    return ast.unparse(node) in ("os", "os.path", "Path", "pathlib.Path")


def check_length(modules: list[Module]) -> list[str]:
    """No module is longer than a person can hold in mind."""
    sizes = ((module, module.text.count("\n")) for module in modules)
    return [f"{module.name}: {size} lines, more than {MAX_LINES}" for module, size in sizes if size > MAX_LINES]


def check_docstrings(modules: list[Module]) -> list[str]:
    """Modules, and public functions and classes, say what they are."""
    complaints = []
    for module in modules:
        if not ast.get_docstring(module.tree):
            complaints.append(f"{module.name}: no docstring")
        for node in module.tree.body:
            if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                continue
            if not node.name.startswith("_") and not ast.get_docstring(node):
                complaints.append(f"{module.where(node.lineno)}: {node.name} has no docstring")
    return complaints


def check_names(modules: list[Module]) -> list[str]:
    """No room or module is a drawer for anything."""
    return [f"{m.name}: says nothing by its name" for m in modules if FORBIDDEN_NAMES & set(m.name.split("."))]


def check_kernels(modules: list[Module]) -> list[str]:
    """Kernels live in `kernels`, are cached and let go of the interpreter's lock."""
    complaints = []
    for module in modules:
        for node in ast.walk(module.tree):
            if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                continue
            for decorator in node.decorator_list:
                complaints += _kernel_faults(module, node, decorator)
    return complaints


def _kernel_faults(module: Module, node: ast.FunctionDef | ast.AsyncFunctionDef, decorator: ast.expr) -> list[str]:
    call = decorator if isinstance(decorator, ast.Call) else None
    name = ast.unparse(call.func if call else decorator).rpartition(".")[2]
    if name not in ("jit", "njit", "vectorize", "guvectorize"):
        return []
    if module.room != "kernels":
        return [f"{module.where(node.lineno)}: {node.name} is compiled outside kernels"]
    options = {word.arg: ast.unparse(word.value) for word in call.keywords} if call else {}
    lacking = [option for option in ("cache", "nogil") if options.get(option) != "True"]
    return [f"{module.where(node.lineno)}: {node.name} lacks {option}=True" for option in lacking]


def check_prints(modules: list[Module]) -> list[str]:
    """Only cli talks to the terminal."""
    return [
        f"{module.where(node.lineno)}: prints"
        for module in modules
        for node in ast.walk(module.tree)
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "print" and module.room != "cli"
    ]


def check_finished(paths: Iterable[Path]) -> list[str]:
    """Nothing committed says that it is not done."""
    complaints = []
    for path in paths:
        for number, line in enumerate(path.read_text("utf-8").splitlines(), 1):
            if UNFINISHED.search(line):
                complaints.append(f"{path.name}:{number}: {line.strip()}")
    return complaints
