"""Generators of documentation: the packages that have their pages, and the markup that says what is content.

The extraction is not shown any of this. Generators that are `held_out` were chosen, and their markup written down,
before the extraction was run on one of their pages; no rule was changed for them. Four others were held out as well,
until rules were changed for them: pydoctor, YARD, scaladoc and Publican.
"""

from typing import Final, NamedTuple

__all__ = ["GENERATORS", "Generator"]


class Generator(NamedTuple):
    """A program or a template that writes documentation."""

    name: str
    signature: str
    """A regular expression that only its pages match."""
    content: str
    """Selector of the elements with the content."""
    navigation: str = ""
    """Selector of navigation, also where it is within the content."""
    packages: tuple[str, ...] = ()
    """Debian packages with pages of it."""
    held_out: bool = False


GENERATORS: Final = (
    Generator(
        "javadoc",
        r'name="generator" content="javadoc/',
        "main",
        "nav, .sub-nav, footer, .toc",
        packages=("openjdk-17-doc",),
    ),
    Generator(
        "rustdoc",
        r'name="generator" content="rustdoc"',
        "#main-content",
        "nav, .sidebar, .search-form, .src-line-numbers",
        packages=("rust-doc",),
    ),
    Generator(
        "mdbook",
        r"<!-- Book generated using mdBook",
        "main",
        "nav, #sidebar, #menu-bar, .nav-wrapper",
        packages=("rust-doc",),
    ),
    Generator(
        "pydata-sphinx",
        r"pydata-sphinx-theme|bd-sidebar",
        "main article, main > div",
        "nav, .bd-sidebar, .bd-toc, .prev-next-area",
        packages=("python-pandas-doc",),
    ),
    Generator(
        "sphinx-rtd",
        r"wy-nav-content",
        'div[itemprop="articleBody"]',
        'nav, footer, [role="navigation"]',
        packages=(
            "buildbot-doc",
            "snakemake-doc",
        ),
    ),
    Generator(
        "sphinx-django",
        r'id="yui-main"',
        "#yui-main",
        '[role="navigation"], .nav, #global-nav, #sidebar, .sphinxsidebar',
        packages=("python-django-doc",),
    ),
    Generator(
        "sphinx",
        r'class="bodywrapper"',
        "div.body",
        '[role="navigation"], .related, .sphinxsidebar, .footer, #searchbox, .contents.local, .mobile-nav',
        packages=("python3.11-doc",),
    ),
    Generator(
        "gtk-doc",
        r"(?i)gtk-doc|class=\"navigation\" id=\"top\"",
        "body",
        "table.navigation, div.footer, hr, .titlepage .toc, p.title",
        packages=(
            "libgtk-3-doc",
            "libcairo2-doc",
        ),
    ),
    Generator(
        "boost",
        r'class="spirit-nav"',
        "body",
        ".spirit-nav, .copyright-footer, .toc, body > table, body > p",
        packages=("libboost1.81-doc",),
    ),
    Generator(
        "docbook",
        r'generator" content="DocBook',
        "body",
        ".navheader, .navfooter, .toc, .list-of-tables",
        packages=("postgresql-doc-15",),
    ),
    Generator(
        "doxygen",
        r'name="generator" content="Doxygen',
        "div.header div.title, div.contents",
        "#top, #side-nav, #nav-path, .navpath, #main-nav, .toc, .summary, .ttc",
        packages=(
            "libstdc++-12-doc",
            "libeigen3-doc",
        ),
    ),
    Generator(
        "qdoc",
        r'id="qtdocheader"',
        ".mainContent",
        ".sidebar, .navigationbar, .footer, .breadcrumb, .toc",
        packages=("qtbase5-doc-html",),
    ),
    Generator(
        "texinfo",
        r'(?i)name="Generator" content="(makeinfo|texi2any)',
        "body",
        "div.header, div.nav-panel, .contents, .shortcontents, .mini_toc, .menu, .node",
        packages=("octave-doc",),
    ),
    Generator(
        "asciidoc",
        r'generator" content="AsciiDoc',
        "#header h1, #content, #preamble",
        "#footer, #toc",
        packages=("git-doc",),
    ),
    Generator(
        "haddock",
        r"(?i)produced by haddock|id=\"package-header\"",
        "#content",
        "#package-header, #footer, #table-of-contents, #contents-list",
        packages=("ghc-doc",),
    ),
    Generator(
        "scribble",
        r"scribble-racket|class=\"maincolumn\"",
        "div.main",
        ".navsettop, .navsetbottom, .tocset, .versionbox",
        packages=("racket-doc",),
    ),
    Generator(
        "mkdocs",
        r'mkdocs|bs-sidebar|id="main-content" class="span9"',
        '[role="main"], #main-content',
        ".navbar, .bs-sidebar, footer, nav",
        packages=(
            "mkdocs-doc",
            "python-djangorestframework-doc",
        ),
    ),
    Generator(
        "nodejs",
        r'id="apicontent"',
        "#apicontent",
        "#column2, #toc, .toc, #gtoc, .picker-header",
        packages=("nodejs-doc",),
    ),
    Generator(
        "apache",
        r'id="page-content"',
        "#page-content",
        "#quickview, .toplang, .bottomlang, .top, #comments_section, .up, #path",
        packages=("apache2-doc",),
    ),
    Generator(
        "sqlite", r"class=\"?nosearch", "body", ".menu, .searchmenu, .fancy_toc, .tagline", packages=("sqlite3-doc",)
    ),
    Generator(
        "exim",
        r'id="inner".*?id="content"|Exim Internet Mailer',
        "#content",
        "#footer, .left_bar, .right_bar, #toc, #branding, a.previous_page, a.next_page, a.contents_page, a.index_page",
        packages=("exim4-doc-html",),
    ),
    Generator("swi-prolog", r"/pldoc|class=\"navigate\"", "body", ".navigate", packages=("swi-prolog-doc",)),
    Generator(
        "gi-docgen",
        r"gi-docgen",
        "#main",
        "nav, .sidebar, footer, .anchor, .docs_clipboard",
        packages=("libgtk-4-doc",),
    ),
    Generator(
        "mediawiki",
        r'name="generator" content="MediaWiki',
        "#firstHeading, #mw-content-text",
        ".t-navbar, .toc, .noprint, .editsection, .printfooter, .catlinks",
        packages=("cppreference-doc-en-html",),
    ),
    Generator(
        "erlang",
        r'<div class="innertube">',
        "#content",
        "#leftnav, .footer, .topbar",
        packages=("erlang-doc",),
    ),
    Generator("fpdoc", r'<table class="bar"', "body", "table.bar", packages=("fp-docs-3.2.2",)),
    Generator(
        "gapdoc",
        r'content="GAPDoc2HTML',
        "body",
        ".chlinktop, .chlinkbot, .chlinkprevnexttop, .chlinkprevnextbot, #mathjaxlink, .ContSect, .foot",
        packages=("gap-doc",),
    ),
    Generator(
        "groovydoc",
        r"generated by groovydoc|class=\"topNav\"><a name",
        ".header, .contentContainer",
        ".topNav, .bottomNav, .subNav, .subTitle",
        packages=("groovy-doc",),
    ),
    Generator(
        "nim",
        r"This file is generated by Nim",
        "h1.title, #content",
        ".columns.three, .footer, .link-seesrc",
        packages=("nim-doc",),
    ),
    Generator(
        "asciidoctor",
        r'name="generator" content="Asciidoctor',
        "#header h1, #content, #preamble",
        "#footer, #toc, #footnotes hr",
        packages=("ntpsec-doc",),
    ),
    Generator(
        "pydoctor",
        r'content="pydoctor',
        "#main",
        "nav, footer, #current-docs-container, #search-results-container, #showPrivate, .thingTitle, .headerlink",
        packages=("twisted-doc",),
    ),
    Generator(
        "yard",
        r"Generated by <a href=\"http://yardoc.org|id=\"class_list_link\"",
        "#content",
        packages=("yard-doc",),
    ),
    Generator(
        "scaladoc",
        r"scaladoc|lib/template\.css",
        "#definition, #signature, #comment, #template",
        "#mbrsel, #tooltip, #footer, .permalink",
        packages=("scala-doc",),
    ),
    Generator(
        "crystal",
        r'content="Crystal Docs',
        ".main-content",
        ".sidebar, .method-permalink",
        packages=("crystal-doc",),
        held_out=True,
    ),
    Generator(
        "ocamldoc",
        r'<link rel="Start" href|class="navbar"><a class="(pre|up|post)"',
        "body",
        ".navbar",
        packages=("libeliom-ocaml-doc",),
        held_out=True,
    ),
    Generator(
        "ldoc",
        r"ldoc\.css|LDoc",
        "#content",
        "#navigation, #about",
        packages=("awesome-doc", "lua-penlight-dev"),
        held_out=True,
    ),
    Generator(
        "publican",
        r'content="publican',
        "body",
        ".docnav, #banner, #title, .toc",
        packages=("debian-handbook",),
    ),
    Generator(
        "mkdocs-material",
        r"mkdocs-material-",
        "article.md-content__inner, .md-content",
        ".md-sidebar, .md-header, .md-footer, .md-source-file, .headerlink",
        packages=("freetype2-doc",),
        held_out=True,
    ),
    Generator(
        "latex2html",
        r'content="LaTeX2HTML',
        "body",
        ".navigation, a[name=CHILD_LINKS], #CHILD_LINKS, ul.ChildLinks, address",
        packages=("bacula-doc",),
        held_out=True,
    ),
    Generator(
        "tomcat",
        r'id="mainRight"',
        "#mainRight",
        "#mainLeft, header, footer",
        packages=("tomcat10-docs",),
        held_out=True,
    ),
    Generator(
        "sisu", r'content="SiSU', ".content0", "label.ocn, .main_column", packages=("live-manual-html",), held_out=True
    ),
    Generator(
        "rdoc",
        r"Generated by <a href=\"https?://(ruby\.github\.io|docs\.seattlerb\.org)/rdoc|rdoc\.css",
        "main",
        "nav, footer",
        packages=("ruby-tioga-doc",),
        held_out=True,
    ),
    Generator(
        "pod", r'^<ul id="index">', "body", "#index, body > a:last-child", packages=("rt5-doc-html",), held_out=True
    ),
    Generator(
        "grass",
        r'class="toc-menu|grassdocs\.css',
        "#container",
        ".toc, .toc-mobile, .toc-content, #footer",
        packages=("grass-doc",),
        held_out=True,
    ),
    Generator(
        "libvirt",
        r'<div id="body">\s*<main ',
        "#body main",
        "nav, #nav, #footer",
        packages=("libvirt-doc",),
        held_out=True,
    ),
    Generator(
        "docutils",
        r'generator" content="Docutils',
        "div.document",
        ".header, .footer, .contents",
        packages=("docutils-doc",),
        held_out=True,
    ),
    Generator("dita", r'name="DC.Type"', "h1, .body", ".related-links", packages=("dita-ot-doc",), held_out=True),
    Generator("swig", r"SWIG", "body", ".sectiontoc", packages=("swig4.0-doc",), held_out=True),
    Generator(
        "javadoc-11",
        r"Generated by javadoc",
        "main",
        "nav, header nav, footer",
        packages=("velocity-doc",),
        held_out=True,
    ),
    Generator(
        "libreoffice",
        r'id="DisplayArea"',
        "#DisplayArea",
        "header, aside, footer",
        packages=("libreoffice-help-en-us",),
        held_out=True,
    ),
)
