"""The settings. One frozen struct per section; `load` reads them once, from periplus.toml, environment and flags.

Only `periplus.cli` calls `load`; each package receives its own struct. `table` lists all settings for --help and docs.
"""

from periplus.settings.all_settings import (
    OLD_NAMES,
    Settings,
    field_table,
    host_table,
    load,
    table,
)
from periplus.settings.settings_crawling import (
    CrawlSettings,
    FetchSettings,
    FrontierSettings,
    ParseSettings,
    RenderSettings,
    StoreSettings,
)
from periplus.settings.settings_fields import FieldSettings, read_field_settings
from periplus.settings.settings_hosts import HostSettings
from periplus.settings.settings_loader import (
    Setting,
)
from periplus.settings.settings_processes import (
    ClusterSettings,
    FocusSettings,
    LimitSettings,
    StorageSettings,
)
from periplus.settings.settings_searching import (
    EmbeddingSettings,
    GraphSettings,
    IndexSettings,
    RankSettings,
    SearchSettings,
)
from periplus.settings.settings_serving import (
    ServeSettings,
    SiteSettings,
)
from periplus.settings_section import cache_folder

__all__ = [
    "OLD_NAMES",
    "ClusterSettings",
    "CrawlSettings",
    "EmbeddingSettings",
    "FetchSettings",
    "FieldSettings",
    "FocusSettings",
    "FrontierSettings",
    "GraphSettings",
    "HostSettings",
    "IndexSettings",
    "LimitSettings",
    "ParseSettings",
    "RankSettings",
    "RenderSettings",
    "SearchSettings",
    "ServeSettings",
    "Setting",
    "Settings",
    "SiteSettings",
    "StorageSettings",
    "StoreSettings",
    "cache_folder",
    "field_table",
    "host_table",
    "load",
    "read_field_settings",
    "table",
]
