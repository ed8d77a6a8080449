"""ftp and gopher through the same client: the same caps, the same checks of addresses, the same outcomes."""

import socket

import pytest
from file_servers import FtpServer, GopherServer

from periplus.fetch.address_guard import permits_port
from periplus.parse import is_supported, parse
from periplus.records import Outcome
from periplus.settings import ParseSettings
from periplus.url import parse_address

LISTING = b"""total 12\r
drwxr-xr-x    2 ftp      ftp          4096 Jan 12 10:00 sub dir\r
-rw-r--r--    1 ftp      ftp            42 Jan 12  2024 notes #1.txt\r
lrwxrwxrwx    1 ftp      ftp             9 Jan 12  2024 latest -> notes.txt\r
brw-rw----    1 root     disk       8,   0 Jan 12  2024 disk\r
"""
DOS = b"""01-12-24  10:00AM       <DIR>          pub\r\n01-12-24  10:00AM                  1234 read me.txt\r\n"""


@pytest.fixture
def ftp():
    server = FtpServer()
    yield server
    server.close()


@pytest.fixture
def gopher():
    server = GopherServer()
    yield server
    server.close()


def page_of(fetched):
    return parse(fetched, ParseSettings())


def test_a_file_comes_back_with_type_and_date(ftp, get):
    ftp.files["/pub/a b.txt"] = b"Words of a file.\nMore of them."
    fetched = get(ftp.url("/pub/a%20b.txt"), accepts=is_supported)
    assert (fetched.outcome, fetched.status, fetched.body[:5]) == (Outcome.OK, 200, b"Words")
    assert fetched.headers == (
        ("content-type", "text/plain"),
        ("last-modified", "Tue, 02 Jan 2024 03:04:05 GMT"),
    )
    assert page_of(fetched).title == "Words of a file."
    assert fetched.ip == "127.0.0.1"


def test_a_file_that_has_not_changed_is_not_taken_again(ftp, get):
    ftp.files["/a.txt"] = b"Words of a file."
    first = get(ftp.url("/a.txt"))
    since = (("If-Modified-Since", first.header("last-modified")),)
    again = get(ftp.url("/a.txt"), headers=since)
    assert (again.outcome, again.status, again.body) == (Outcome.NOT_MODIFIED, 304, b"")
    ftp.changed = b"20250102030405"
    assert get(ftp.url("/a.txt"), headers=since).outcome is Outcome.OK
    assert get(ftp.url("/a.txt"), headers=(("If-Modified-Since", "soon"),)).outcome is Outcome.OK


@pytest.mark.parametrize(
    ("listing", "links"),
    [
        (LISTING, ["/pub/sub%20dir/", "/pub/notes%20%231.txt", "/pub/latest"]),
        (DOS, ["/pub/pub/", "/pub/read%20me.txt"]),
        (b"", []),
        (b"garbage\n\xff\xfe\n-rw not a line", []),
        (b"-rw-r--r-- 1 a b 4 Jan 12 2024 ../../etc/passwd\n-rw-r--r-- 1 a b 4 Jan 12 2024 ..\n", []),
    ],
)
def test_a_folder_is_a_page_of_links(ftp, get, listing, links):
    ftp.folders["/pub"] = listing
    fetched = get(ftp.url("/pub/"), accepts=is_supported)
    assert fetched.outcome is Outcome.OK
    page = page_of(fetched)
    if listing:
        assert [link.url.removeprefix(ftp.url("")) for link in page.links] == links
        assert page.kind == "text/ftp-dir-listing"


def test_what_is_not_there(ftp, get):
    assert get(ftp.url("/none.txt")).outcome is Outcome.GONE
    assert get(ftp.url("/none/")).outcome is Outcome.GONE
    folder = get(ftp.url("/pub"))
    assert (folder.outcome, folder.location) == (Outcome.REDIRECT, ftp.url("/pub/"))


def test_a_file_that_nobody_reads_is_not_taken(ftp, get):
    ftp.files["/film.mp4"] = b"x" * 100_000
    ftp.files["/all.tar.gz"] = b"x" * 100_000
    for path in ("/film.mp4", "/all.tar.gz"):
        fetched = get(ftp.url(path), accepts=is_supported)
        assert (fetched.outcome, fetched.body) == (Outcome.WRONG_TYPE, b"")


def test_a_file_without_end_stops_at_the_cap(ftp, get):
    ftp.files["/a.txt"] = b"begin"
    ftp.endless = True
    fetched = get(ftp.url("/a.txt"), max_bytes=200_000)
    ftp.endless = False
    assert fetched.outcome is Outcome.TOO_LARGE
    assert len(fetched.body) <= 200_000


def test_a_large_file_is_not_begun(ftp, get):
    ftp.files["/a.txt"] = b"x" * 500_000
    assert get(ftp.url("/a.txt"), max_bytes=100_000).outcome is Outcome.TOO_LARGE


@pytest.mark.parametrize(
    "greeting", [b"", b"530 go away\r\n", b"SSH-2.0-x\r\n", b"\xff" * 5_000, b"220-x\r\n" * 50_000]
)
def test_broken_ftp_is_an_outcome(ftp, get, greeting):
    ftp.greeting = greeting
    fetched = get(ftp.url("/a.txt"), timeout=1)
    assert fetched.outcome in (Outcome.BAD_RESPONSE, Outcome.CLIENT_ERROR, Outcome.TIMEOUT, Outcome.CONNECT)


def test_ftp_to_a_private_address_is_refused(ftp, get):
    assert get(ftp.url("/a.txt"), allow=()).outcome is Outcome.FORBIDDEN_ADDRESS
    assert ftp.commands == []


def test_an_ftp_server_cannot_send_us_elsewhere(ftp, get):
    """PASV names the address of the data connection; a lie about it must not lead into somebody's network."""
    inside = socket.create_server(("127.0.0.77", 0))
    inside.settimeout(0.2)
    ftp.files["/a.txt"] = b"here"
    ftp.passive_host = "127.0.0.77"
    fetched = get(ftp.url("/a.txt"), timeout=60)
    assert (fetched.outcome, fetched.body) == (Outcome.OK, b"here")
    with pytest.raises(TimeoutError):
        inside.accept()
    inside.close()


def test_ftp_logs_in_as_nobody(ftp, get):
    ftp.files["/a.txt"] = b"here"
    assert get(f"ftp://user:secret@127.0.0.1:{ftp.port}/a.txt").outcome is Outcome.OK
    assert "USER anonymous" in ftp.commands
    assert not any("secret" in command for command in ftp.commands)


MENU = b"""iWelcome to the hole\tfake\t(NULL)\t0\r
1More of it\t/more\t127.0.0.1\t70\r
0About\tabout file.txt\t127.0.0.1\t7070\r
hA site\tURL:https://web.test/x\t127.0.0.1\t70\r
9A binary\t/x.bin\t127.0.0.1\t70\r
7Search\t/find\t127.0.0.1\t70\r
1Broken\t/x\t\t\r
1Mail\t/x\tmail.test\t25\r
.\r
"""


def test_a_menu_is_a_page_of_links(gopher, get):
    gopher.items[""] = MENU
    fetched = get(gopher.url(), accepts=is_supported)
    assert (fetched.outcome, fetched.header("content-type")) == (Outcome.OK, "application/gopher-menu")
    page = page_of(fetched)
    assert page.title == "Welcome to the hole"
    assert [link.url for link in page.links] == [
        "gopher://127.0.0.1/1/more",
        "gopher://127.0.0.1:7070/0about%20file.txt",
        "https://web.test/x",
        "gopher://mail.test:25/1/x",
    ]
    assert page.text.startswith("Welcome to the hole\nMore of it")
    assert gopher.asked == [""]


def test_a_text_loses_its_last_dot_only(gopher, get):
    gopher.items["/a.txt"] = b"A text.\r\nIt ends.\r\n.\r\n"
    gopher.items["/b.txt"] = b"A text that ends."
    assert get(gopher.url("/0/a.txt")).body == b"A text.\r\nIt ends.\r\n"
    assert get(gopher.url("/0/b.txt")).body == b"A text that ends."


def test_menus_without_end_stop_at_the_cap(gopher, get):
    gopher.items[""] = b"ibegin\t\t-\t0\r\n"
    gopher.endless = True
    fetched = get(gopher.url(), max_bytes=100_000)
    gopher.endless = False
    assert fetched.outcome is Outcome.TOO_LARGE
    assert len(fetched.body) <= 100_000


def test_gopher_to_a_private_address_is_refused(gopher, get):
    assert get(gopher.url(), allow=()).outcome is Outcome.FORBIDDEN_ADDRESS
    assert gopher.asked == []


def test_types_that_nobody_reads_are_not_taken(gopher, get):
    gopher.items["/x"] = b"x" * 50_000
    assert get(gopher.url("/9/x"), accepts=is_supported).outcome is Outcome.WRONG_TYPE


@pytest.mark.parametrize(
    ("url", "good"),
    [
        ("gopher://a.test/", True),
        ("gopher://a.test:7070/", True),
        ("gopher://a.test:25/", False),
        ("gopher://a.test:80/", False),
        ("gopher://a.test:6379/", False),
        ("ftp://a.test/", True),
        ("ftp://a.test:2121/", True),
        ("ftp://a.test:22/", False),
        ("http://a.test:25/", False),
        ("http://a.test:81/", True),
        ("https://a.test:8443/", True),
    ],
)
def test_ports_of_other_services(url, good):
    assert permits_port(parse_address(url)) == good


def test_a_port_of_others_is_never_connected_to(get):
    assert get("http://127.0.0.1:25/").outcome is Outcome.FORBIDDEN_ADDRESS
    assert get("gopher://127.0.0.1:6379/1x").outcome is Outcome.FORBIDDEN_ADDRESS
