"""Documents made by real programs' libraries, at test time."""

import io
from datetime import UTC, datetime

LINES = ("The harbour opens at dawn.", "Keepers of the lamp write down every ship.")


def pdf(password: str = "", pages: int = 2) -> bytes:
    from fpdf import FPDF
    from fpdf.encryption import EncryptionMethod

    document = FPDF()
    document.set_title("Lighthouse handbook")
    document.set_author("Ada Keeper")
    document.set_subject("How to keep a light")
    document.set_creation_date(datetime(2021, 3, 4, tzinfo=UTC))
    for number in range(pages):
        document.add_page()
        document.set_font("Helvetica", size=12)
        document.multi_cell(
            0, 8, f"Page number {number + 1}\n" + "\n".join(LINES) + "\nSee https://light.example/more."
        )
    if password:
        document.set_encryption("owner", password, encryption_method=EncryptionMethod.RC4)
    return bytes(document.output())


def docx() -> bytes:
    import docx as library

    document = library.Document()
    document.core_properties.title = "Lighthouse handbook"
    document.core_properties.author = "Ada Keeper"
    document.core_properties.created = datetime(2021, 3, 4)
    document.core_properties.keywords = "light, sea"
    document.add_heading("Keeping a light", 1)
    for line in LINES:
        document.add_paragraph(line)
    table = document.add_table(1, 2)
    table.cell(0, 0).text = "Range"
    table.cell(0, 1).text = "18 miles"
    document.part.relate_to("https://light.example/more", library.opc.constants.RELATIONSHIP_TYPE.HYPERLINK, True)
    return _bytes(document)


def xlsx() -> bytes:
    import openpyxl

    book = openpyxl.Workbook()
    book.properties.title = "Lights of the coast"
    book.properties.creator = "Ada Keeper"
    sheet = book.active
    sheet.title = "Lights"
    sheet.append(["Name", "Height"])
    sheet.append(["Northern Rock", 47.5])
    book.create_sheet("Ships").append(["Blue Heron"])
    return _bytes(book)


def pptx() -> bytes:
    import pptx as library

    slides = library.Presentation()
    slides.core_properties.title = "Lighthouse talk"
    slides.core_properties.author = "Ada Keeper"
    for number in range(1, 12):
        slide = slides.slides.add_slide(slides.slide_layouts[1])
        slide.shapes.title.text = f"Slide {number}"
        slide.placeholders[1].text = LINES[number % 2]
    return _bytes(slides)


def odt() -> bytes:
    from odfdo import Document, Header, Paragraph

    document = Document("text")
    document.body.clear()
    document.body.append(Header(1, "Keeping a light"))
    for line in LINES:
        document.body.append(Paragraph(line))
    document.meta.title = "Lighthouse handbook"
    document.meta.initial_creator = "Ada Keeper"
    return _bytes(document)


def epub() -> bytes:
    import tempfile
    from pathlib import Path

    import mkepub

    book = mkepub.Book(
        "Lighthouse handbook", language="en", author="Ada Keeper", description="How to keep a light", subjects=["sea"]
    )
    for number, line in enumerate(LINES, 1):
        book.add_page(
            f"Chapter {number}",
            f"<h1>Chapter {number}</h1><p>{line}&#160;<a href='https://light.example/{number}'>more</a></p>",
        )
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "book.epub"
        book.save(str(path))
        return path.read_bytes()


def _bytes(document) -> bytes:
    buffer = io.BytesIO()
    document.save(buffer)
    return buffer.getvalue()
