"""Languages of documents: main content, declarations, sites, the live index."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from periplus.arrays import ArrayFile
from periplus.hashing import fingerprint_text
from periplus.index import Index, LiveIndex, build_index, site_languages
from periplus.index.builder.page_languages import identify_languages, sample_text
from periplus.index.document_fields import Document, make_document
from periplus.index.site_languages import SegmentLanguages, SiteLanguages
from periplus.records import FetchRecord, Outcome, Page
from periplus.settings import IndexSettings
from periplus.text import LANGUAGES, language_number

ENGLISH = "The ship was in the harbour and the fog was thick, so that nobody could see the coast that night at all."
SPANISH = "El barco estaba en el puerto y la niebla era muy densa, de modo que nadie pudo ver la costa esa noche."
GERMAN = "Das Schiff lag im Hafen und der Nebel war so dicht, dass in dieser Nacht niemand die Küste sehen konnte."
MENU = "Home\nProducts\nAbout us\nContact\nImprint\nTerms of service\nPrivacy\nLog in\nSearch\nHelp and support\n"


def record(url: str, text: str, title: str = "", language: str = "", **more: object) -> FetchRecord:
    page = Page(url, title=title, text=text, language=language, **more)  # type: ignore[arg-type]
    return FetchRecord(url, fingerprint_text(url), Outcome.OK, 0.0, 200, page=page)


def document(text: str, title: str = "", language: str = "", host: str = "a.test") -> Document:
    return make_document(record(f"https://{host}/{hash(text)}", text, title, language), language, "")


def identify(*documents: Document, sites: SiteLanguages | None = None) -> list[str]:
    return [each.language for each in identify_languages(documents, sites or SiteLanguages())]


def test_a_declared_language_is_evidence_and_no_more() -> None:
    assert identify(document(SPANISH, language="en")) == ["es"]
    assert identify(document(SPANISH, language="es-MX")) == ["es"]
    assert identify(document("Chorizo", language="es"), document("Bratwurst", language="de")) == ["es", "de"]
    assert identify(document("2024 / 2025", language="fr")) == ["fr"]
    assert identify(document(ENGLISH, language="zxx")) == ["zxx"]
    assert identify(document(ENGLISH, language="zxx"), document(SPANISH, language="en")) == ["zxx", "es"]


def test_the_main_content_decides_and_not_the_menu_before_it() -> None:
    assert identify(document(MENU * 3 + SPANISH + "\n" + SPANISH + "\n" + SPANISH)) == ["es"]
    fields = document(MENU + GERMAN).fields
    assert sample_text(fields, 120).startswith(GERMAN[:90].encode())
    text = MENU + GERMAN * 3
    page = record("https://a.test/", text, main=(len(MENU), len(text)))
    assert identify(make_document(page, "", "")) == ["de"]


def test_a_name_in_another_script_does_not_decide() -> None:
    bangkok = "Bangkok (Thai: กรุงเทพมหานคร) is the most populous city of Thailand. " + ENGLISH
    lobachevsky = "Nikolai Lobachevsky (Никола́й Ива́нович Лобаче́вский) was a geometer. " + ENGLISH
    assert identify(document(bangkok), document(lobachevsky, host="b.test")) == ["en", "en"]


def test_a_short_page_has_the_language_of_its_site() -> None:
    site = [document(f"{SPANISH} {number}", host="es.test") for number in range(5)]
    others = [document(f"{ENGLISH} {number}", host="en.test") for number in range(5)]
    short = [document("Menu", "Paella", host=host) for host in ("es.test", "en.test")]
    assert identify(*site, *others, *short) == ["es"] * 5 + ["en"] * 5 + ["es", "en"]


def test_a_short_page_has_the_language_of_the_collection_if_its_site_is_unknown() -> None:
    sites = SiteLanguages()
    identify(*(document(f"{ENGLISH} {number}", host=f"h{number}.test") for number in range(20)), sites=sites)
    titles = ["Asteroid", "Bankruptcy", "Ad hominem", "Team meeting notes", "Zibbled invoices, quarterly zibbles"]
    assert identify(*(document("", title, host="new.test") for title in titles), sites=sites) == ["en"] * 5
    assert identify(document(GERMAN, host="new.test"), sites=sites) == ["de"]


def test_keyword_lists_and_telegraphic_abstracts_are_identified() -> None:
    words = "aerodynamics, slipstream, propeller, boundary layer, incompressible viscosity, lift distribution"
    assert identify(document(words), document(words.replace(",", ""))) == ["en", "en"]
    assert identify(document("HEAVY RAIN EXPECTED NORTH COAST TONIGHT, FLOODING POSSIBLE")) == ["en"]


@given(st.lists(st.tuples(st.text(max_size=30), st.text(max_size=30), st.text(max_size=5)), max_size=4))
def test_any_document_has_one_language(texts: list[tuple[str, str, str]]) -> None:
    documents = [document(text, title, tag) for text, title, tag in texts]
    languages = identify(*documents)
    assert languages == identify(*documents)
    assert set(languages) <= set(LANGUAGES)


def test_hosts_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(site_languages, "MAX_HOSTS", 3)
    sites = SiteLanguages()
    sites.add([f"h{n}" for n in range(10)], np.ones(10, np.uint8), np.ones(10, np.float32))
    assert list(sites._hosts) == ["h7", "h8", "h9"]
    rows, row_of = sites.expectations(["h9", "h0", "h9"])
    assert row_of.tolist() == [1, 0, 1]
    assert rows[1, 1] > rows[0, 1] > 0.5


def test_nothing_is_expected_without_pages() -> None:
    assert SiteLanguages().expectations(["a.test"])[1].tolist() == [-1]


def test_languages_of_a_segment_are_those_of_its_hosts(tmp_path: Path) -> None:
    pages = [record(f"https://es.test/{n}", f"{SPANISH} {n}") for n in range(3)]
    pages += [record(f"https://mixed.test/{n}", f"{text} {n}") for n, text in enumerate((GERMAN, ENGLISH, GERMAN))]
    build_index(pages, tmp_path, IndexSettings())
    segment = Index.open(tmp_path).segments[0]
    languages = SegmentLanguages.read(ArrayFile(tmp_path / segment.name / "documents.arrays", "documents"))
    assert dict(languages.of_host("es.test")) == {language_number("es"): 3}
    assert dict(languages.of_host("mixed.test")) == {language_number("de"): 2, language_number("en"): 1}
    assert dict(languages.of_host("other.test")) == {}
    assert Index.open(tmp_path).languages == {"es": 3, "de": 2, "en": 1}


def test_published_pages_have_the_language_of_the_index(tmp_path: Path) -> None:
    build_index([record(f"https://a.test/{n}", f"{ENGLISH} {n}") for n in range(30)], tmp_path, IndexSettings())
    with LiveIndex(tmp_path, IndexSettings(), background=False) as live:
        live.add(record("https://published.invalid/1", "Zibbled invoices, quarterly zibbles", "Team meeting notes"))
        live.add(record("https://a.test/menu", "", "Bankruptcy"))
        live.add(record("https://b.test/es", SPANISH))
        live.publish()
        assert Index.open(tmp_path).languages == {"en": 32, "es": 1}
    build_index([record("https://a.test/tea", "", "Asteroid")], tmp_path, IndexSettings(), append=True)
    assert Index.open(tmp_path).languages == {"en": 33, "es": 1}
