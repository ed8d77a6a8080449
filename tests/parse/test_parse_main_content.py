"""Main content as the generators of documentation mark it: regions by name, references, links to neighbours."""

import pytest

from periplus.parse import main_text
from periplus.parse.html.main_content import find_main_blocks, scan_html_blocks

LEGAL = (
    "Report a bug or suggest an enhancement. For further reference see the documentation, which has more detailed, "
    "developer-targeted descriptions with conceptual overviews, definitions of terms, workarounds and examples."
)
ROWS = "".join(
    f"<tr><td><a href='#E{n}'>E{n}</a></td><td><a href='x{n}'>Error {n}</a></td><td>Cause {n}.</td></tr>"
    for n in range(40)
)


def words(text: str) -> set[str]:
    return set(text.split())


def test_a_footer_is_not_the_content_of_a_page_with_main(parse_page) -> None:
    page = parse_page(
        f"<header><nav>Overview Package</nav></header><main role=main><h1>Class Tide</h1><div>public class Tide</div>"
        f"<p>A tide of the day.</p></main><footer><p>{LEGAL}</p></footer>"
    )
    assert main_text(page) == "Class Tide\npublic class Tide\nA tide of the day."
    assert page.preview == "public class Tide A tide of the day."


def test_a_footer_by_name_is_not_the_content_of_a_short_page(parse_page) -> None:
    page = parse_page(
        f"<body><div class=refentry><h2>Struct tag::sum</h2><p>In header file tag.hpp, the sum of all weights.</p>"
        f"<pre>struct sum : public depends_on&lt;count&gt; {{ typedef impl::sum impl; }};</pre></div>"
        f"<div class='copyright-footer'>{LEGAL}</div>"
    )
    assert LEGAL not in main_text(page)
    assert "struct sum" in main_text(page)


@pytest.mark.parametrize("wrap", ["<main>{}</main>", '<div role="main">{}</div>', '<div id="content">{}</div>', "{}"])
def test_a_reference_keeps_the_rows_of_its_tables(parse_page, wrap: str) -> None:
    table = f"<h1>Errors</h1><p>All errors, by number.</p><table>{ROWS}</table>"
    page = parse_page(f"<body><ul><li><a href=a>Home</a><li><a href=b>Manual</a></ul>{wrap.format(table)}")
    assert {f"E{n}" for n in range(40)} <= words(main_text(page))
    assert "Manual" not in words(main_text(page))


def test_definition_lists_are_content(parse_page) -> None:
    items = "".join(f"<dt><code>--option-{n}</code></dt><dd>Sets it to {n}.</dd>" for n in range(30))
    page = parse_page(f"<body><div class=sect1><h2>Options</h2><dl>{items}</dl></div>")
    assert {f"--option-{n}" for n in range(30)} <= words(main_text(page))


@pytest.mark.parametrize(
    "links",
    [
        '<a accesskey="p" href="a">Prev</a> <a accesskey="u" href="b">Up</a> <a accesskey="n" href="c">Next</a>',
        'Next: <a href="a" rel="next">Ebb</a>, Up: <a href="b" rel="up">Tides</a> [<a href="c" rel="contents">X</a>]',
    ],
)
def test_links_to_neighbours_are_navigation(parse_page, links: str) -> None:
    page = parse_page(
        f"<body><div class=top><p>{links}</p></div><h1>Flood</h1><p>The flood is the rise of the water towards the "
        f"coast, twice a day on most of them, and lasts for about six hours.</p><div><p>{links}</p></div>"
    )
    assert main_text(page).startswith("Flood\nThe flood is")
    assert not {"Prev", "Next", "Next:", "[X]"} & words(main_text(page))


def test_a_main_element_with_next_to_nothing_is_not_trusted(parse_page) -> None:
    story = "The keeper trimmed the lantern every evening before the fog came in, and rowed home after midnight. " * 3
    page = parse_page(f"<body><main><p>Loading the page</p></main><div class=story><p>{story}</p></div>")
    assert "lantern" in main_text(page)


PROSE = "The keeper trimmed the lantern every evening before the fog came in, and rowed home after midnight. " * 3


def test_a_row_of_links_above_the_first_heading_is_navigation(parse_page) -> None:
    bar = "[<a href=a>Overview</a>][<a href=b>Constants</a>][<a href=c>Classes</a>][<a href=d>Index</a>]"
    page = parse_page(
        f"<body><table><tr><td>{bar}</td><td>Manual of <a href=e>tides</a></td></tr></table><h1>Ebb</h1>"
        "<p>The fall of the water.</p><h2>Declaration</h2><p>property Ebb: Level;</p><p>read FEbb</p><p>write FEbb</p>"
        "<h2>Description</h2><p>The level of the water when it is lowest, at one place and on one day, in metres.</p>"
    )
    assert main_text(page).startswith("Ebb\nThe fall of the water.")


def test_a_list_in_a_table_above_the_first_heading_is_content(parse_page) -> None:
    page = parse_page(f"<body><table>{ROWS}</table><h2>About these errors</h2><p>{PROSE}</p>")
    assert {f"E{n}" for n in range(40)} <= words(main_text(page))


def test_a_title_above_links_is_content(parse_page) -> None:
    page = parse_page(
        f"<body><main><div>Package sea</div><h1>Class Tide</h1><div><a href=a>lang.Object</a></div>"
        f"<div>sea.Tide</div><p>{PROSE}</p>"
        "<h2>Elsewhere</h2><ul><li><a href=b>Ebb</a><li><a href=c>Flood</a></ul></main>"
    )
    assert "Class Tide" in main_text(page)
    assert "Elsewhere" not in main_text(page)


def test_a_short_paragraph_below_the_title_is_content(parse_page) -> None:
    lead = "This chapter is an introduction to keeping a light."
    text = f"<p>{PROSE}</p>" * 12
    page = parse_page(f"<body><p>Our menu is short.</p><h1>Lights</h1><p>{lead}</p><h2>Lanterns</h2>{text}")
    assert main_text(page).startswith(f"Lights\n{lead}\nLanterns")


@pytest.mark.parametrize("name", ["topNav", "bottomNav", "subNav", "sidenav", "navList"])
def test_compound_names_of_navigation_are_understood(parse_page, name: str) -> None:
    page = parse_page(
        f"<body><div class={name}><ul><li>Nested<li><a href=a>Field</a></ul></div><h1>Ebb</h1><p>{PROSE}</p>"
    )
    assert "Nested" not in words(main_text(page))


def test_the_id_of_a_heading_does_not_make_a_section_boilerplate() -> None:
    prose = "The sea comes in twice a day, and goes out again; nobody has stopped it so far, though many tried. " * 3
    markup = (
        "<body><main><section id=defining-application-tags><h2>Tags</h2><p>"
        f"{prose}</p></section><section id=how-to-hide-the-menu><h2>Menu</h2><p>{prose[::-1]}</p></section></main>"
    ).encode()
    blocks = scan_html_blocks(markup)
    assert find_main_blocks(blocks).all()


@pytest.mark.parametrize(
    ("style", "is_hidden"),
    [("display:none", True), ("'display: none;'", True), ('"DISPLAY : none"', True), ("display:block", False)],
)
def test_what_a_style_hides_is_not_content(parse_page, style: str, is_hidden: bool) -> None:
    text = "Undocumented, but known to fall for six hours and some minutes. "
    page = parse_page(f"<body><div style={style}><p>{PROSE}</p></div><h1>Ebb</h1><p>{3 * text}</p>")
    assert main_text(page).startswith("Ebb\nUndocumented") == is_hidden


@pytest.mark.parametrize("name", ["comment", "tags", "sidebar"])
def test_ambiguous_names_are_content_among_other_text(parse_page, name: str) -> None:
    members = "".join(f"<h4>def tide{n}</h4><div class={name}><p>Remark {n}. {PROSE}</p></div>" for n in range(9))
    signatures = "".join(
        f"<p>The function tide{n} takes the hour and returns the height of the water.</p>" for n in range(9)
    )
    page = parse_page(f"<body><h1>Tides</h1>{signatures}{members}{signatures}")
    assert {f"{n}." for n in range(9)} <= words(main_text(page))
    page = parse_page(f"<body><h1>Tides</h1>{signatures}<div class={name}><p>Remark. {PROSE}</p></div>")
    assert "Remark." not in words(main_text(page))


def test_a_menu_may_be_larger_than_the_content(parse_page) -> None:
    menu = "".join(f"<li>{n} <a href=m{n}.html>The reference of module number {n}</a>" for n in range(400))
    page = parse_page(
        f"<body><aside><ul>{menu}</ul></aside><div id=content><h3>Module</h3><p>An item of a sizer. It is "
        "documented elsewhere, in the manual of the library.</p></div>"
    )
    assert main_text(page).startswith("Module\nAn item")
    assert "400" not in words(main_text(page))
