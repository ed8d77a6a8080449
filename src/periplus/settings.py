"""The settings. One frozen struct per section; `load` reads them once, from periplus.toml, environment and flags.

Only `periplus.cli` calls `load`; each package receives its own struct. `table` lists all settings for --help and docs.
"""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated, Final, get_type_hints

import msgspec
from msgspec import Meta

from periplus.settings_crawling import (
    ClusterSettings,
    CrawlSettings,
    FetchSettings,
    FocusSettings,
    FrontierSettings,
    LimitSettings,
    ParseSettings,
    StorageSettings,
    StoreSettings,
)
from periplus.settings_loader import Setting, Warn, read_settings, warn_of_old_name
from periplus.settings_searching import (
    EmbeddingSettings,
    GraphSettings,
    IndexSettings,
    RankSettings,
    SearchSettings,
    ServeSettings,
    SiteSettings,
)
from periplus.settings_section import Section, cache_folder

__all__ = [
    "OLD_NAMES",
    "ClusterSettings",
    "CrawlSettings",
    "EmbeddingSettings",
    "FetchSettings",
    "FocusSettings",
    "FrontierSettings",
    "GraphSettings",
    "IndexSettings",
    "LimitSettings",
    "ParseSettings",
    "RankSettings",
    "SearchSettings",
    "ServeSettings",
    "Setting",
    "Settings",
    "SiteSettings",
    "StorageSettings",
    "StoreSettings",
    "cache_folder",
    "load",
    "table",
]


class Settings(Section, frozen=True):
    """All settings."""

    folder: Annotated[str, Meta(description="Data folder: pages, index and crawl state", min_length=1)] = (
        "periplus-data"
    )
    fetch: FetchSettings = FetchSettings()
    frontier: FrontierSettings = FrontierSettings()
    parse: ParseSettings = ParseSettings()
    store: StoreSettings = StoreSettings()
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


OLD_NAMES: Final = {
    "fetch.hosts": "fetch.hosts_file",
    "fetch.trust": "fetch.ca_file",
    "crawl.block": "crawl.blocklist",
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
        else:
            rows.append(_row("", Settings, field))
    return rows


def _row(prefix: str, section: type, field: msgspec.structs.FieldInfo) -> Setting:
    hint = get_type_hints(section, include_extras=True)[field.name]
    plain, meta = hint.__args__[0], hint.__metadata__[0]
    return Setting(prefix + field.name, getattr(plain, "__name__", str(plain)), field.default, meta.description)


def load(
    file: Path | None, environment: Mapping[str, str], flags: Iterable[str] = (), warn: Warn = warn_of_old_name
) -> Settings:
    """Read settings: `file`, then PERIPLUS_SECTION_NAME of the environment, then 'section.name=value' flags.

    A later source takes precedence. `warn` is called with a sentence for each old name.
    """
    return read_settings(Settings, table(), file, environment, flags, OLD_NAMES, warn)
