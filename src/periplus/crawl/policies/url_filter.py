"""URL filters set by the operator: schemes, hosts, paths, patterns, countries, lists. Seeds are not filtered."""

from pathlib import Path
from typing import Final

from periplus.crawl.policies.host_table import HostTable
from periplus.crawl.policies.profanity import ProfanityFilter
from periplus.crawl.policies.url_patterns import UrlPatterns
from periplus.errors import SettingsError
from periplus.records import Address
from periplus.settings import CrawlSettings, HostSettings

__all__ = ["UrlFilter"]

_MAX_BLOCKED: Final = 10_000_000


class UrlFilter:
    """Decides which addresses may be crawled."""

    def __init__(self, settings: CrawlSettings, hosts: HostTable | None = None) -> None:
        self._host_table = hosts or HostTable({})
        self._host_filters: dict[int, _HostFilter] = {}
        self._hosts = frozenset(host.lower() for host in settings.hosts)
        self._schemes = frozenset(scheme.lower().rstrip(":/") for scheme in settings.schemes)
        self._paths = tuple(settings.paths)
        self._countries = frozenset(country.lower().lstrip(".") for country in settings.countries)
        self._include = UrlPatterns(settings.include, "crawl.include")
        self._exclude = UrlPatterns(settings.exclude, "crawl.exclude")
        self._profanity = ProfanityFilter.read(settings)
        self._blocked = _read_block_list(Path(settings.blocklist)) if settings.blocklist else frozenset()
        filters = (self._blocked, self._hosts, self._countries, self._paths, self._exclude, self._include)
        self._is_empty = not any(filters) and self._profanity is None and not self._host_table

    def accepts(self, address: Address) -> bool:
        """Return whether an address passes every filter that is set."""
        if address.scheme not in self._schemes:
            return False
        if self._is_empty:
            return True
        if self._blocked and _is_under(address.host, self._blocked):
            return False
        if self._hosts and not _is_under(address.host, self._hosts):
            return False
        if self._countries and address.host.rpartition(".")[2] not in self._countries:
            return False
        if self._paths and not address.path.startswith(self._paths):
            return False
        if self._exclude and self._exclude.match(address.url):
            return False
        if self._include and not self._include.match(address.url):
            return False
        if self._profanity is not None and self._profanity.finds_in_url(address.url):
            return False
        return not self._host_table or self._accepts_for_host(address)

    def _accepts_for_host(self, address: Address) -> bool:
        own = self._host_table.find(address.host)
        if own is None:
            return True
        host_filter = self._host_filters.get(id(own))
        if host_filter is None:
            host_filter = self._host_filters[id(own)] = _HostFilter(own)
        return host_filter.accepts(address)


class _HostFilter:
    """The filters of one section of host settings."""

    def __init__(self, settings: HostSettings) -> None:
        self._paths = settings.paths
        self._include = UrlPatterns(settings.include, '[host."..."] include')
        self._exclude = UrlPatterns(settings.exclude, '[host."..."] exclude')

    def accepts(self, address: Address) -> bool:
        if self._paths and not address.path.startswith(self._paths):
            return False
        if self._exclude and self._exclude.match(address.url):
            return False
        return not self._include or self._include.match(address.url)


def _read_block_list(path: Path) -> frozenset[str]:
    """Read hosts and domains, one on a line; '#' begins a comment, and lines of a hosts file are accepted."""
    try:
        lines = path.read_text("utf-8").splitlines()[:_MAX_BLOCKED]
    except UnicodeDecodeError:
        raise SettingsError(f"crawl.blocklist: {path} is not a text file.") from None
    except OSError as error:
        raise SettingsError(f"crawl.blocklist: cannot read {path}: {error.strerror}.") from None
    rows = (line.partition("#")[0].split() for line in lines)
    return frozenset(fields[-1].lower().strip(".") for fields in rows if fields)


def _is_under(host: str, names: frozenset[str]) -> bool:
    """Return whether a host is one of the names or a subdomain of one."""
    while host:
        if host in names:
            return True
        host = host.partition(".")[2]
    return False
