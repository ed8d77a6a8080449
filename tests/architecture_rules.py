"""Read the table of packages in ARCHITECTURE.md, read the imports of a source tree, and list where they differ.

Every checker takes a tree and returns a list of complaints, so that the checkers themselves can be tested on bad trees.
"""

import ast
import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

PACKAGE = "periplus"
MAX_LINES = 400
MAX_MODULES = 16
REPEATED_NAMES = {"__init__", "kernels"}
DIALECT_VERBS = {"Give", "Say", "Tell", "Let", "Take"}
DIALECT_CLASSES = {
    "Alone",
    "Arranged",
    "Asked",
    "Asking",
    "Clicked",
    "Company",
    "Counted",
    "Desk",
    "Doors",
    "Draft",
    "Dresser",
    "Due",
    "Errand",
    "Face",
    "Fetched",
    "Found",
    "Front",
    "Gate",
    "Gathered",
    "Gathering",
    "Handle",
    "Harvester",
    "Having",
    "Heard",
    "Held",
    "Joined",
    "Judged",
    "Kept",
    "Known",
    "Laid",
    "Learned",
    "Lists",
    "Loaded",
    "Looked",
    "Made",
    "Marked",
    "Meant",
    "Memory",
    "Moved",
    "Named",
    "Neighbours",
    "Opened",
    "Outside",
    "Packed",
    "Parcel",
    "Passive",
    "Placing",
    "Prepared",
    "Published",
    "Reported",
    "Ring",
    "Ripe",
    "Said",
    "Sighting",
    "Silence",
    "Sorted",
    "Taken",
    "Tongue",
    "Tongues",
    "Tries",
    "Trimmed",
    "Troubles",
    "Unpacked",
    "Used",
    "Visit",
    "Visited",
    "Voices",
    "Wanted",
    "Whereabouts",
    "Without",
    "WordBook",
}
"""Participles and metaphors that once were class names."""
FORBIDDEN_NAMES = {"common", "core", "helper", "helpers", "misc", "util", "utils"}
ENVIRONMENT_ALLOWED = {"settings", "settings_section", "cli"}
ENVIRONMENT_NAMES = {"environ", "environb", "getenv", "getenvb", "expanduser", "expandvars", "home"}
UNFINISHED = re.compile(r"\b(TO" r"DO|FIX" r"ME|XX" r"X)\b")


class Package(NamedTuple):
    """One row of the table in ARCHITECTURE.md."""

    name: str
    may_import: frozenset[str]
    owns: frozenset[str]
    rights: frozenset[str] = frozenset()
    """The packages that its row names one by one; those have to be used."""


class Architecture(NamedTuple):
    packages: dict[str, Package]
    free: frozenset[str]
    """Third-party packages that every package may import."""


class Import(NamedTuple):
    """One `import` statement's target: for `from a.b import c`, module 'a.b' and name 'c'."""

    module: str
    name: str
    line: int


@cache
def all_nodes(tree: ast.AST) -> tuple[ast.AST, ...]:
    """Return every node of a tree: a dozen checks look at all of them."""
    return tuple(ast.walk(tree))


class Module(NamedTuple):
    path: Path
    name: str
    """Dotted, 'periplus.url.canonical'; a package's __init__ is 'periplus.url'."""
    package: str
    """First part below the package; '' for the package itself."""
    tree: ast.Module
    text: str

    def imports(self) -> Iterator[Import]:
        """Every import, wherever it stands: at the top, in a function, under TYPE_CHECKING."""
        yield from _imports(iter(all_nodes(self.tree)), self)

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


def read_architecture(document: str) -> Architecture:
    """Parse the table whose first column is 'package'. 'B' stands for the base modules."""
    lines = document.splitlines()
    start = next(i for i, line in enumerate(lines) if re.match(r"\|\s*package\s*\|", line))
    base: list[str] = []
    packages: dict[str, Package] = {}
    for line in lines[start + 2 :]:
        if not line.startswith("|"):
            break
        names, question, imports, owns = (cell.strip() for cell in line.strip().strip("|").split("|"))
        name = names.strip("`")
        if question.startswith("*"):
            base.append(name)
        rights = frozenset(re.findall(r"\w+", imports)) - {"B", *base} if imports != "everything above" else frozenset()
        owned = frozenset(re.findall(r"`([\w.]+)`", owns))
        packages[name] = Package(name, _rights(imports, packages, base), owned, frozenset(rights))
    free = re.search(r"Free for all packages: (.+?)\.\s", document)
    return Architecture(packages, frozenset(re.findall(r"`(\w+)`", free.group(1))) if free else frozenset())


def _rights(cell: str, above: dict[str, Package], base: list[str]) -> frozenset[str]:
    if cell == "everything above":
        return frozenset(above)
    words = set(re.findall(r"\w+", cell))
    return frozenset(words - {"B"} | (set(base) if "B" in words else set()))


def is_kernel_module(name: str) -> bool:
    """Return whether a module is of a `kernels` package, or is one."""
    return "kernels" in name.split(".")[2:]


def read_tree(source: Path) -> list[Module]:
    """Parse every module of the package in `source`."""
    modules = []
    for path in sorted((source / PACKAGE).rglob("*.py")):
        parts = list(path.relative_to(source).with_suffix("").parts)
        if parts[-1] == "__init__":
            parts.pop()
        text = path.read_text("utf-8")
        package = parts[1] if len(parts) > 1 else ""
        modules.append(Module(path, ".".join(parts), package, ast.parse(text), text))
    return modules


def packages_of(modules: Iterable[Module]) -> set[str]:
    return {module.package for module in modules} - {""}


def check_packages(modules: list[Module], architecture: Architecture) -> list[str]:
    """Every package stands in the table, and every row of the table stands in the tree."""
    found = packages_of(modules)
    missing = [
        f"{name}: in ARCHITECTURE.md, but not in the tree" for name in sorted(set(architecture.packages) - found)
    ]
    return missing + [f"{name}: not in ARCHITECTURE.md" for name in sorted(found - set(architecture.packages))]


def check_imports(modules: list[Module], architecture: Architecture) -> list[str]:
    """Rooms import only the packages they may."""
    complaints = []
    for module in modules:
        row = architecture.packages.get(module.package)
        allowed = row.may_import if row else frozenset()
        if not module.package:
            allowed = frozenset(("app", "errors", "settings"))  # where what `import periplus` offers is defined
        for used in module.imports():
            package = _package_of(used)
            if package and package not in {module.package, *allowed}:
                complaints.append(f"{module.where(used.line)}: {module.package or PACKAGE} may not import {package}")
    return complaints


def _package_of(used: Import) -> str:
    """Return the package that an import enters, '' for other packages and for the package's own names."""
    parts = used.module.split(".")
    if parts[0] != PACKAGE:
        return ""
    if len(parts) > 1:
        return parts[1]
    return "" if used.name.startswith("__") else used.name


def check_public_api(modules: list[Module]) -> list[str]:
    """Other packages are imported by their public API, and only for what it exports.

    Public are a package itself, the modules of `accel`, and the modules of any `kernels` sub-package.
    """
    exports = {module.name: exported(module) for module in modules}
    complaints = []
    for module in modules:
        for used in module.imports():
            package = _package_of(used)
            if not package or package == module.package or is_kernel_module(used.module) or package == "accel":
                continue
            api = f"{PACKAGE}.{package}"
            if used.module not in (PACKAGE, api):
                complaints.append(f"{module.where(used.line)}: imports {used.module}, not {api}")
            elif used.module == api and used.name not in exports.get(api, set()):
                complaints.append(f"{module.where(used.line)}: {api} does not export '{used.name}'")
    return complaints


def exported(module: Module) -> set[str]:
    """Return the names in a module's __all__; the whole public top level where there is none."""
    for node in module.tree.body:
        targets = (
            node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
        )
        if any(isinstance(target, ast.Name) and target.id == "__all__" for target in targets):
            return set(ast.literal_eval(node.value))  # type: ignore[union-attr,arg-type]
    return set()


def check_exports(modules: list[Module]) -> list[str]:
    """Every package has an __all__, and every name in an __all__ exists."""
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
    for node in all_nodes(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            names.add(node.name)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            names.update((alias.asname or alias.name).split(".")[0] for alias in node.names)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.add(node.id)
    return names


def find_cycle(edges: dict[str, set[str]]) -> list[str]:
    """Return one cycle of a directed graph, [] where there is none."""
    state: dict[str, int] = {}
    path: list[str] = []

    def visit(node: str) -> list[str]:
        state[node] = 1
        path.append(node)
        for after in sorted(edges.get(node, ())):
            if state.get(after) == 1:
                return [*path[path.index(after) :], after]
            if after not in state and (cycle := visit(after)):
                return cycle
        state[node] = 2
        path.pop()
        return []

    for node in sorted(edges):
        if node not in state and (cycle := visit(node)):
            return cycle
    return []


def check_cycles(modules: list[Module]) -> list[str]:
    """No cycle between packages by any import, and none between modules by those that run at import time."""
    packages: dict[str, set[str]] = {}
    files: dict[str, set[str]] = {}
    names = {module.name for module in modules}
    for module in modules:
        packages.setdefault(module.package, set()).update(
            {_package_of(used) for used in module.imports()} - {module.package, ""}
        )
        targets = {
            t for used in module.top_imports() for t in (used.module, f"{used.module}.{used.name}") if t in names
        }
        inner = {
            target for target in targets if not (target == f"{PACKAGE}.{module.package}" and module.name != target)
        }
        files[module.name] = inner - {module.name, PACKAGE}
    return [" -> ".join(cycle) for cycle in (find_cycle(packages), find_cycle(files)) if cycle]


def check_owners(modules: list[Module], architecture: Architecture) -> list[str]:
    """A third-party library is imported by the one package that owns it."""
    owner = {library: package.name for package in architecture.packages.values() for library in package.owns}
    complaints = []
    for module in modules:
        for used in module.imports():
            library = used.module.split(".")[0]
            if library in (PACKAGE, "__future__") or library in sys.stdlib_module_names or library in architecture.free:
                continue
            if owner.get(library) != module.package:
                complaints.append(f"{module.where(used.line)}: {library} belongs to {owner.get(library, 'nobody')}")
    return complaints


def check_double_owners(architecture: Architecture) -> list[str]:
    """No two packages own the same library."""
    seen: dict[str, str] = {}
    complaints = []
    for package in architecture.packages.values():
        for library in sorted(package.owns):
            if library in seen:
                complaints.append(f"{library}: owned by {seen[library]} and {package.name}")
            seen[library] = package.name
    return complaints


def check_environment(modules: list[Module]) -> list[str]:
    """Only settings and cli read the environment or the home folder."""
    complaints = []
    for module in modules:
        if module.package in ENVIRONMENT_ALLOWED:
            continue
        for node in all_nodes(module.tree):
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
    """No package or module is named after nothing, and no two modules share a name without a reason.

    `__init__` and `kernels` may repeat, and a module of a `kernels` sub-package may have the name of what it serves.
    """
    complaints = [f"{m.name}: says nothing by its name" for m in modules if FORBIDDEN_NAMES & set(m.name.split("."))]
    seen: dict[str, str] = {}
    for module in modules:
        stem = module.path.stem
        # The path of a command names it: the folder makes the difference plain.
        if stem in REPEATED_NAMES or is_kernel_module(module.name) or ".cli.commands." in module.name:
            continue
        if stem in seen:
            complaints.append(f"{module.name}: has the file name of {seen[stem]}")
        seen[stem] = module.name
    return complaints


def check_folder_sizes(modules: list[Module]) -> list[str]:
    """No folder has more modules than a person can survey."""
    sizes = Counter(module.path.parent for module in modules)
    return [f"{folder.name}: {n} modules, more than {MAX_MODULES}" for folder, n in sizes.items() if n > MAX_MODULES]


def check_rights(modules: list[Module], architecture: Architecture) -> list[str]:
    """Every right to import a package is used."""
    used: dict[str, set[str]] = {}
    for module in modules:
        used.setdefault(module.package, set()).update(_package_of(entry) for entry in module.imports())
    return [
        f"{package.name}: may import {right}, and does not"
        for package in architecture.packages.values()
        for right in sorted(package.rights - used.get(package.name, set()))
    ]


def check_vocabulary(modules: list[Module]) -> list[str]:
    """Docstrings are in the imperative of the language's own habit, and classes are nouns of the field."""
    complaints = []
    for module in modules:
        for node in all_nodes(module.tree):
            if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Module):
                continue
            first = (ast.get_docstring(node) or "").partition(" ")[0]
            if first in DIALECT_VERBS:
                complaints.append(f"{module.where(getattr(node, 'lineno', 1))}: docstring begins with '{first}'")
            if isinstance(node, ast.ClassDef) and node.name.lstrip("_") in DIALECT_CLASSES:
                complaints.append(f"{module.where(node.lineno)}: class {node.name} is not named by what it is")
    return complaints


def check_kernels(modules: list[Module]) -> list[str]:
    """Kernels live in `kernels` modules, are cached and release the interpreter's lock."""
    complaints = []
    for module in modules:
        for node in all_nodes(module.tree):
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
    if not is_kernel_module(module.name) and module.package != "accel":
        return [f"{module.where(node.lineno)}: {node.name} is compiled outside kernels"]
    options = {word.arg: ast.unparse(word.value) for word in call.keywords} if call else {}
    lacking = [option for option in ("cache", "nogil") if options.get(option) != "True"]
    return [f"{module.where(node.lineno)}: {node.name} lacks {option}=True" for option in lacking]


def check_prints(modules: list[Module]) -> list[str]:
    """Only cli talks to the terminal."""
    return [
        f"{module.where(node.lineno)}: prints"
        for module in modules
        for node in all_nodes(module.tree)
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "print" and module.package != "cli"
    ]


def check_finished(paths: Iterable[Path]) -> list[str]:
    """Nothing committed says that it is not done."""
    complaints = []
    for path in paths:
        for number, line in enumerate(path.read_text("utf-8").splitlines(), 1):
            if UNFINISHED.search(line):
                complaints.append(f"{path.name}:{number}: {line.strip()}")
    return complaints
