"""Settings of single hosts: the tables [host."..."] of periplus.toml, and what is wrong with them."""

import re
from typing import Annotated, Any, Final

import msgspec
from msgspec import Meta

from periplus.errors import SettingsError
from periplus.settings_section import Section
from periplus.typed_decoding import convert_to

__all__ = ["HostSettings", "read_host_settings"]

_TOKEN: Final = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]{1,128}")
_VALUE: Final = re.compile(r"[\t -~\x80-\U0010ffff]{0,8192}")
_COOKIE: Final = re.compile(r"[!#-+\--:<-\[\]-~]{0,4096}")
_PROXY: Final = re.compile(r"(?:https?|socks5h?)://(?:[^\s/@]+@)?[^\s/@]+")
_KEY: Final = re.compile(r"\*|(?:\*\.)?[^\s/@*\"']{1,253}")
_OWN_HEADERS: Final = frozenset(
    {"accept-encoding", "authorization", "connection", "content-length", "cookie", "host", "proxy-authorization"}
    | {"range", "te", "trailer", "transfer-encoding", "upgrade", "user-agent"}
)
"""Headers that have a setting of their own, or that libcurl has to set."""


class HostSettings(Section, frozen=True):
    """Settings of single hosts: `[host."example.org"]`, `[host."*.example.org"]` (its subdomains), `[host."*"]` (all).

    The most specific section of a host counts, as a whole. Credentials are sent to the host of the section only.
    """

    delay: Annotated[
        float, Meta(description="Minimum delay between two requests, in seconds; -1 is frontier.delay", ge=-1)
    ] = -1.0
    pages: Annotated[int, Meta(description="Maximum number of pages; 0 is crawl.host_pages", ge=0)] = 0
    bytes: Annotated[int, Meta(description="Maximum size of all bodies, in bytes; 0 is crawl.host_bytes", ge=0)] = 0
    per_day: Annotated[
        int, Meta(description="Maximum number of requests a day (UTC); 0 is crawl.host_requests_per_day", ge=0)
    ] = 0
    scope: Annotated[
        str,
        Meta(
            description="always: in scope, whatever the seeds; never: not fetched; none: as crawl.scope",
            pattern="^(|always|never)$",
        ),
    ] = ""
    paths: Annotated[tuple[str, ...], Meta(description="Only paths that begin with one of these")] = ()
    include: Annotated[tuple[str, ...], Meta(description="Only URLs that match one of these patterns")] = ()
    exclude: Annotated[tuple[str, ...], Meta(description="No URLs that match one of these patterns")] = ()
    headers: Annotated[dict[str, str], Meta(description="Further request headers, e.g. { X-Team = 'search' }")] = (
        msgspec.field(default_factory=dict)
    )
    cookies: Annotated[dict[str, str], Meta(description="Cookies, e.g. { session = '4711' }")] = msgspec.field(
        default_factory=dict
    )
    user: Annotated[str, Meta(description="User name of basic authentication")] = ""
    password: Annotated[str, Meta(description="Password of basic authentication")] = ""
    password_file: Annotated[
        str, Meta(description="File whose first line is the password, instead of host.password")
    ] = ""
    over_http: Annotated[
        bool, Meta(description="Send headers, cookies and password over plain http too, where others can read them")
    ] = False
    proxy: Annotated[
        str, Meta(description="Proxy, e.g. http://proxy.example:3128 or socks5h://[USER:PASSWORD@]127.0.0.1:1080")
    ] = ""

    render: Annotated[
        bool, Meta(description="Run the scripts of pages in Chromium, and index what they show (crawling.md)")
    ] = False
    render_from: Annotated[
        tuple[str, ...], Meta(description="Other hosts from which rendered pages may load scripts and data")
    ] = ()

    @property
    def has_credentials(self) -> bool:
        """Whether anything is sent that others must not see."""
        return bool(self.headers or self.cookies or self.user)

    def __repr__(self) -> str:
        """Return the names of the fields that are set, but no values: some are secret."""
        names = [name for name in self.__struct_fields__ if getattr(self, name) not in (-1.0, 0, "", (), {}, False)]
        return f"HostSettings({', '.join(names)})"


def read_host_settings(tables: Any, source: str) -> dict[str, HostSettings]:
    """Return the settings of hosts from the `host` table of a settings file; errors never show values."""
    hint = 'Write [host."example.org"] with settings of docs/settings.md.'
    if not isinstance(tables, dict) or not all(isinstance(table, dict) for table in tables.values()):
        raise SettingsError(f"'host' {source} is not a table of hosts.", hint)
    return {key: _read_host(key, table, f'[host."{key[:80]}"] {source}') for key, table in tables.items()}


def _read_host(key: str, table: dict[str, Any], where: str) -> HostSettings:
    if not _KEY.fullmatch(key):
        raise SettingsError(f"{where}: this is not the name of a host.", "Write a host, '*.example.org' or '*'.")
    unknown = [name for name in table if name not in HostSettings.__struct_fields__]
    if unknown:
        names = ", ".join(HostSettings.__struct_fields__)
        raise SettingsError(f"{where}: unknown setting '{unknown[0][:80]}'.", f"There are: {names}.")
    try:
        settings = convert_to(table, HostSettings, strict=False)
    except msgspec.ValidationError as error:
        raise SettingsError(f"{where} has a wrong value: {error}.", "See docs/settings.md.") from None
    fault = _fault_of(key, settings)
    if fault:
        raise SettingsError(f"{where}: {fault}")
    return settings


def _fault_of(key: str, settings: HostSettings) -> str:
    """Return what is wrong with the settings of a host, '' if nothing is."""
    if key == "*" and (settings.cookies or settings.user or settings.headers):
        return "headers, cookies and passwords are sent to named hosts only."
    for name, value in settings.headers.items():
        if not _TOKEN.fullmatch(name) or not _VALUE.fullmatch(value):
            return f"'{name[:40]}' is not a header of one line."
        if name.lower() in _OWN_HEADERS:
            return f"the header '{name}' cannot be set here."
    for name, value in settings.cookies.items():
        if not _TOKEN.fullmatch(name) or not _COOKIE.fullmatch(value):
            return f"'{name[:40]}' is not a cookie (no blanks, commas, quotes, semicolons or backslashes)."
    if (settings.password or settings.password_file) and not settings.user:
        return "a password needs a user."
    if settings.password and settings.password_file:
        return "give password or password_file, not both."
    if ":" in settings.user or not _VALUE.fullmatch(settings.user + settings.password):
        return "user or password contains a character that basic authentication cannot send."
    if settings.proxy and not _PROXY.fullmatch(settings.proxy):
        return "proxy is not a URL of scheme http, https, socks5 or socks5h."
    return ""
