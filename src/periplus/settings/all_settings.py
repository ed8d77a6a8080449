"""All settings as one struct: its table, the names that settings had before, and how it is loaded."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated, Final, get_type_hints

import msgspec
from msgspec import Meta

from periplus.settings.settings_crawling import (
    CrawlSettings,
    FetchSettings,
    FrontierSettings,
    ParseSettings,
    RenderSettings,
    StoreSettings,
)
from periplus.settings.settings_fields import FieldSettings, read_field_settings
from periplus.settings.settings_hosts import HostSettings, read_host_settings
from periplus.settings.settings_loader import Setting, Warn, read_settings, warn_of_old_name
from periplus.settings.settings_processes import ClusterSettings, FocusSettings, LimitSettings, StorageSettings
from periplus.settings.settings_searching import (
    EmbeddingSettings,
    GraphSettings,
    IndexSettings,
    RankSettings,
    SearchSettings,
)
from periplus.settings.settings_serving import ServeSettings, SiteSettings
from periplus.settings_section import Section

__all__ = ["OLD_NAMES", "Settings", "field_table", "host_table", "load", "table"]


class Settings(Section, frozen=True):
    """All settings."""

    folder: Annotated[str, Meta(description="Data folder: pages, index and crawl state", min_length=1)] = (
        "periplus-data"
    )
    fetch: FetchSettings = FetchSettings()
    frontier: FrontierSettings = FrontierSettings()
    parse: ParseSettings = ParseSettings()
    store: StoreSettings = StoreSettings()
    render: RenderSettings = RenderSettings()
    crawl: CrawlSettings = CrawlSettings()
    focus: FocusSettings = FocusSettings()
    index: IndexSettings = IndexSettings()
    graph: GraphSettings = GraphSettings()
    rank: RankSettings = RankSettings()
    embeddings: EmbeddingSettings = EmbeddingSettings()
    search: SearchSettings = SearchSettings()
    serve: ServeSettings = ServeSettings()
    limits: LimitSettings = LimitSettings()
    cluster: ClusterSettings = ClusterSettings()
    storage: StorageSettings = StorageSettings()
    site: SiteSettings = SiteSettings()
    host: dict[str, HostSettings] = msgspec.field(default_factory=dict)
    fields: dict[str, FieldSettings] = msgspec.field(default_factory=dict)


_HOSTS: Final = "host"
"""Name of the tables of single hosts."""
_FIELDS: Final = "fields"
"""Name of the tables of the fields of documents."""

OLD_NAMES: Final = {
    "fetch.hosts": "fetch.hosts_file",
    "fetch.trust": "fetch.ca_file",
    "crawl.block": "crawl.blocklist",
    "store.compression": "store.warc",
    "search.similar_bits": "search.near_duplicate_bits",
    "serve.names": "serve.host_names",
    "serve.places": "serve.geocoder",
    "serve.proxied": "serve.behind_proxy",
    "semantic.on": "embeddings.enabled",
    "semantic.words": "embeddings.passage_tokens",
    "semantic.lazy": "embeddings.on_demand",
    "semantic.skim": "embeddings.early_exit",
    **{
        f"semantic.{name}": f"embeddings.{name}"
        for name in ("model", "languages", "overlap", "passages", "candidates", "documents", "weight", "nearest")
    },
    "semantic.probe": "embeddings.probe",
    "semantic.threads": "embeddings.threads",
}
"""Names that settings had before, which are still accepted."""


def table() -> list[Setting]:
    """Return every setting: name with its section ('fetch.timeout'), type, default, help."""
    rows: list[Setting] = []
    for field in msgspec.structs.fields(Settings):
        if isinstance(field.default, Section):
            section = type(field.default)
            rows.extend(_row(f"{field.name}.", section, inner) for inner in msgspec.structs.fields(section))
        elif field.name not in (_HOSTS, _FIELDS):
            rows.append(_row("", Settings, field))
    return rows


def host_table() -> list[Setting]:
    """Return the settings of single hosts: name, type, default, help."""
    return [_row("", HostSettings, field) for field in msgspec.structs.fields(HostSettings)]


def field_table() -> list[Setting]:
    """Return the settings of a field of documents: name, type, default, help."""
    return [_row("", FieldSettings, field) for field in msgspec.structs.fields(FieldSettings)]


def _row(prefix: str, section: type, field: msgspec.structs.FieldInfo) -> Setting:
    hint = get_type_hints(section, include_extras=True)[field.name]
    plain, meta = hint.__args__[0], hint.__metadata__[0]
    default = "" if field.default is msgspec.NODEFAULT else field.default
    return Setting(prefix + field.name, getattr(plain, "__name__", str(plain)), default, meta.description)


def load(
    file: Path | None, environment: Mapping[str, str], flags: Iterable[str] = (), warn: Warn = warn_of_old_name
) -> Settings:
    """Read settings: `file`, then PERIPLUS_SECTION_NAME of the environment, then 'section.name=value' flags.

    A later source takes precedence. `warn` is called with a sentence for each old name.
    """
    tables = {_HOSTS: read_host_settings, _FIELDS: read_field_settings}
    return read_settings(Settings, table(), file, environment, flags, OLD_NAMES, warn, tables=tables)
