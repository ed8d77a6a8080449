"""Collections and aliases: each change of the catalog is there whole, or not at all."""

from pathlib import Path

from operation import MarkWriter, Operation, expect, expect_between

from periplus.publish import CollectionCatalog


class Collections(Operation):
    """Two collections, aliases that move from one to the other in one step, and the first one deleted."""

    name = "collections: create, swap aliases, delete"

    def prepare(self, folder: Path) -> None:
        folder.mkdir(parents=True)
        catalog = CollectionCatalog(folder)
        catalog.create("first", public=True)
        catalog.change_aliases({"a": "first", "b": "first"})

    def run(self, folder: Path, marks: MarkWriter) -> None:
        catalog = CollectionCatalog(folder)
        names = {collection.name for collection in catalog.all()}
        if "second" not in names:
            marks.begin("second")
            catalog.create("second", public=True)
            marks.done("second")
        marks.begin("swap")
        catalog.change_aliases({"a": "second", "b": "second"})
        marks.done("swap")
        if "first" in names:
            marks.begin("delete")
            catalog.delete("first")
            marks.done("delete")

    def check(self, folder: Path, done: list[str], begun: list[str]) -> None:
        catalog = CollectionCatalog(folder)
        names = {collection.name for collection in catalog.all()}
        must = {"second"} & {*done} | ({"first"} if "delete" not in begun else set())
        may = {"second"} & {*begun} | ({"first"} if "delete" not in done else set())
        expect_between(must, names, may, "collections")
        aliases = catalog.change_aliases({})
        expect(aliases["a"] == aliases["b"], f"one alias was changed without the other: {aliases}")
        expect(aliases["a"] == "second" or "swap" not in done, "aliases are what they were before")
        expect(aliases["a"] == "first" or "swap" in begun, "aliases were changed by nobody")
        for collection in catalog.all():
            expect(catalog.path(collection).is_dir(), f"{collection.name} has no folder")
        catalog.create("more", public=False)
        expect({one.name for one in catalog.all()} == names | {"more"}, "a collection was lost afterwards")


OPERATIONS = (Collections(),)
