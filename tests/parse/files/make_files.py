"""Make the files beside this one anew, with programs that people make such files with.

    pip install apispec docutils feedgenerator lxml mdformat pyyaml spyne
    python tests/parse/files/make_files.py

They are kept, since a test that needs six more packages would be left out more often than run.
"""

import json
from datetime import UTC, datetime
from pathlib import Path

import mdformat
from apispec import APISpec
from docutils.core import publish_string
from feedgenerator import Atom1Feed, Enclosure, Rss201rev2Feed
from spyne import Application, Integer, ServiceBase, Unicode, rpc
from spyne.interface.wsdl import Wsdl11
from spyne.protocol.soap import Soap11

HERE = Path(__file__).parent
WHEN = datetime(2021, 3, 4, 10, tzinfo=UTC)

BOOK = """
Lighthouse handbook
===================

:Author: Ada Keeper
:Date: 2021-03-04

The harbour opens at dawn. Keepers of the lamp *write down* every ship, see `the log`_.

Keeping a light
---------------

.. figure:: /lamp.png
   :alt: The lamp

   Lit at dusk, every day of the year.

Keepers
-------

.. image:: /film.mp4
   :alt: A film of the lamp

=====  ========
Range  18 miles
=====  ========

.. _the log: https://light.example/log
"""
NOTES = """
Lighthouse handbook
===

* The harbour opens at dawn.
* Keepers **write down** every ship, see [the log](https://light.example/log "why").

![The lamp](/lamp.png)
"""


class TideService(ServiceBase):
    @rpc(Unicode, Integer, _returns=Unicode)
    def get_tide(ctx, harbour, day):
        """Tides of a harbour on one day."""


def wsdl() -> bytes:
    soap = {"in_protocol": Soap11(), "out_protocol": Soap11()}
    interface = Wsdl11(Application([TideService], tns="https://tides.example/soap", name="Tides", **soap).interface)
    interface.build_interface_document("https://tides.example/soap")
    return interface.get_interface_document()


def description(version: str) -> APISpec:
    spec = APISpec("Tide tables", "1.0", version, info={"description": "Tides for any harbour."})
    harbour = {"name": "harbour", "in": "path", "required": True, "schema": {"type": "string"}}
    operation = {"summary": "Tides of a day", "parameters": [harbour], "responses": {"200": {"description": "Tides"}}}
    return spec.path("/tides/{harbour}", operations={"get": operation})


def feed(kind: type) -> bytes:
    made = kind("Tides & lights", "https://pod.example/", "A sea podcast", language="en-gb", author_name="Ada Keeper")
    sound = Enclosure("https://pod.example/a/1.mp3", "1000", "audio/mpeg")
    told = "<p>How it <i>began</i>.</p>"
    made.add_item("First & last", "https://pod.example/e/1", told, pubdate=WHEN, enclosures=[sound])
    made.add_item("Second", "https://pod.example/e/2", "", pubdate=WHEN)
    return made.writeString("utf-8").encode()


def main() -> None:
    plain = {"embed_stylesheet": False, "stylesheet_path": "", "_disable_config": True, "generator": True}
    files = {
        "tides.wsdl": wsdl(),
        "openapi.json": json.dumps(description("3.0.3").to_dict(), indent=1).encode() + b"\n",
        "openapi.yaml": description("3.0.3").to_yaml().encode(),
        "swagger.json": json.dumps(description("2.0").to_dict(), indent=1).encode() + b"\n",
        "swagger.yaml": description("2.0").to_yaml().encode(),
        "feed.rss": feed(Rss201rev2Feed),
        "feed.atom": feed(Atom1Feed),
        "book.html": publish_string(BOOK, writer="html5", settings_overrides=plain),
        "book.xml": publish_string(BOOK, writer="docutils_xml", settings_overrides={"_disable_config": True}),
        "notes.md": mdformat.text(NOTES).encode(),
    }
    for name, body in files.items():
        (HERE / name).write_bytes(body)


if __name__ == "__main__":
    main()
