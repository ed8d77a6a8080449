"""What a command does, importable: functions from a data folder and `Settings` to records, and `Engine` for all of it.

In: the path of a data folder, `Settings`, and an `Observer` for messages and progress. Out: records of what was done.
Nothing here prints, parses arguments or reads the environment; `cli` does, and so may any other program:

    import periplus
    with periplus.open("data") as engine:
        engine.crawl(["https://example.org/"], pages=100)
        engine.build()
        page = engine.search("lighthouse")

`jobs` are calls that end (crawl, import, build, train, evaluate ...), `serving` has those that run until they are
stopped. Modules are imported when their names are first used, so that a program loads what it needs. See
docs/library.md.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from periplus.app.observer import SILENT, Observer, SilentObserver

if TYPE_CHECKING:
    from periplus.app.capacity.capacity_model import plan_capacity
    from periplus.app.capacity.capacity_records import CapacityPlan
    from periplus.app.capacity.quantities import format_amount, format_hours
    from periplus.app.capacity.workload_defaults import describe_machine, describe_workload
    from periplus.app.checking.file_kinds import FILE_KINDS, FileKind, kind_table
    from periplus.app.checking.folder_check import FolderCheck, FolderFault, check_data_folder
    from periplus.app.checking.folder_repair import FolderRepair, repair_data_folder
    from periplus.app.clusters.cluster_commands import ClusterSession, cluster_down, cluster_up, join_cluster
    from periplus.app.clusters.cluster_demo import ClusterAnswer, ClusterDemo, open_cluster_demo
    from periplus.app.collection_jobs import (
        change_aliases,
        create_collection,
        delete_collection,
        list_collections,
    )
    from periplus.app.demo_run import Demo, DemoAnswer, open_demo
    from periplus.app.diagnosis import Finding, examine_installation
    from periplus.app.engine import Engine, EngineStatistics, PublishedPage
    from periplus.app.fake_web_server import FakeWebAddress, serve_fake_web
    from periplus.app.interrupts import stop_on_signal, wait_for_signal
    from periplus.app.jobs.crawl_runner import (
        CrawlRun,
        check_seeds,
        control_crawl,
        crawl_status,
        list_held,
        queue_of_host,
        resize_crawl,
        run_crawl,
    )
    from periplus.app.jobs.deletion_jobs import (
        DeletionReport,
        apply_deletions,
        delete_pages,
        list_deleted,
        restore_pages,
    )
    from periplus.app.jobs.embedding_jobs import embed_pages, embedding_status, fetch_embedding_model
    from periplus.app.jobs.evaluation_jobs import evaluate_ranking
    from periplus.app.jobs.index_building import build_graph_and_index
    from periplus.app.jobs.index_maintenance import (
        RepairReport,
        check_folder,
        export_terms,
        index_statistics,
        repair_folder,
    )
    from periplus.app.jobs.link_ranking import FolderRanks, GraphRanks, HostRank, PageRank, rank_folder, rank_graph_file
    from periplus.app.jobs.model_training import ModelList, learn_to_rank, list_ranking_models, use_ranking_model
    from periplus.app.jobs.page_import import import_files, import_proxy_logs
    from periplus.app.jobs.queries import diagnose_query, explain_rank, search_folder
    from periplus.app.jobs.seed_lists import read_seeds
    from periplus.app.jobs.site_evaluation import evaluate_sites
    from periplus.app.jobs.store_jobs import index_archive, store_statistics, trim_store
    from periplus.app.kernel_compilation import compile_kernels
    from periplus.app.priority import lower_priority
    from periplus.app.remedies import with_remedy
    from periplus.app.rule_jobs import add_rules, find_rules, set_server_rules
    from periplus.app.serving.agent_server import serve_agents
    from periplus.app.serving.folder_server import add_api_key, api_keys, open_server, remove_api_key, serve_folder
    from periplus.app.serving.live_engine import run_live
    from periplus.app.serving.server_actions import fetch_service, server_actions
    from periplus.app.sites.site_commands import (
        NewSite,
        SiteReport,
        invite_site,
        join_sites,
        leave_sites,
        make_site,
        revoke_token,
        site_report,
    )
    from periplus.app.sites.site_demo import SiteDemo, SiteDemoAnswer, open_site_demo
    from periplus.app.sites.site_server import run_site
    from periplus.app.snapshot_jobs import SnapshotSize, create_snapshot, delete_snapshot, snapshot_sizes
    from periplus.crawl import CrawlStatistics, HeldRegion, HostQueue
    from periplus.crawl import CrawlStatus as ShardStatus
    from periplus.evaluate import (
        Evaluation,
        Explanation,
        FederationReport,
        QueryDiagnosis,
        average_gains,
        metric_rows,
    )
    from periplus.index import IndexStatistics
    from periplus.rank import ChangedResult, ModelCard
    from periplus.serve import as_json as result_page_as_json
    from periplus.sites import PeerStatus

__all__ = [
    "FILE_KINDS",
    "SILENT",
    "CapacityPlan",
    "ChangedResult",
    "ClusterAnswer",
    "ClusterDemo",
    "ClusterSession",
    "CrawlRun",
    "CrawlStatistics",
    "DeletionReport",
    "Demo",
    "DemoAnswer",
    "Engine",
    "EngineStatistics",
    "Evaluation",
    "Explanation",
    "FakeWebAddress",
    "FederationReport",
    "FileKind",
    "Finding",
    "FolderCheck",
    "FolderFault",
    "FolderRanks",
    "FolderRepair",
    "GraphRanks",
    "HeldRegion",
    "HostQueue",
    "HostRank",
    "IndexStatistics",
    "ModelCard",
    "ModelList",
    "NewSite",
    "Observer",
    "PageRank",
    "PeerStatus",
    "PublishedPage",
    "QueryDiagnosis",
    "RepairReport",
    "ShardStatus",
    "SilentObserver",
    "SiteDemo",
    "SiteDemoAnswer",
    "SiteReport",
    "SnapshotSize",
    "add_api_key",
    "add_rules",
    "api_keys",
    "apply_deletions",
    "average_gains",
    "build_graph_and_index",
    "change_aliases",
    "check_data_folder",
    "check_folder",
    "check_seeds",
    "cluster_down",
    "cluster_up",
    "compile_kernels",
    "control_crawl",
    "crawl_status",
    "create_collection",
    "create_snapshot",
    "delete_collection",
    "delete_pages",
    "delete_snapshot",
    "describe_machine",
    "describe_workload",
    "diagnose_query",
    "embed_pages",
    "embedding_status",
    "evaluate_ranking",
    "evaluate_sites",
    "examine_installation",
    "explain_rank",
    "export_terms",
    "fetch_embedding_model",
    "fetch_service",
    "find_rules",
    "format_amount",
    "format_hours",
    "import_files",
    "import_proxy_logs",
    "index_archive",
    "index_statistics",
    "invite_site",
    "join_cluster",
    "join_sites",
    "kind_table",
    "learn_to_rank",
    "leave_sites",
    "list_collections",
    "list_deleted",
    "list_held",
    "list_ranking_models",
    "lower_priority",
    "make_site",
    "metric_rows",
    "open_cluster_demo",
    "open_demo",
    "open_server",
    "open_site_demo",
    "plan_capacity",
    "queue_of_host",
    "rank_folder",
    "rank_graph_file",
    "read_seeds",
    "remove_api_key",
    "repair_data_folder",
    "repair_folder",
    "resize_crawl",
    "restore_pages",
    "result_page_as_json",
    "revoke_token",
    "run_crawl",
    "run_live",
    "run_site",
    "search_folder",
    "serve_agents",
    "serve_fake_web",
    "serve_folder",
    "server_actions",
    "set_server_rules",
    "site_report",
    "snapshot_sizes",
    "stop_on_signal",
    "store_statistics",
    "trim_store",
    "use_ranking_model",
    "wait_for_signal",
    "with_remedy",
]

_OWN: Final = {
    "capacity.capacity_model": ("plan_capacity",),
    "capacity.capacity_records": ("CapacityPlan",),
    "capacity.quantities": ("format_amount", "format_hours"),
    "capacity.workload_defaults": ("describe_machine", "describe_workload"),
    "checking.folder_repair": ("FolderRepair", "repair_data_folder"),
    "checking.file_kinds": ("FILE_KINDS", "FileKind", "kind_table"),
    "checking.folder_check": ("FolderCheck", "FolderFault", "check_data_folder"),
    "demo_run": (
        "Demo",
        "DemoAnswer",
        "open_demo",
    ),
    "diagnosis": (
        "Finding",
        "examine_installation",
    ),
    "engine": (
        "Engine",
        "EngineStatistics",
        "PublishedPage",
    ),
    "fake_web_server": (
        "FakeWebAddress",
        "serve_fake_web",
    ),
    "interrupts": ("stop_on_signal", "wait_for_signal"),
    "clusters.cluster_commands": ("ClusterSession", "cluster_down", "cluster_up", "join_cluster"),
    "clusters.cluster_demo": ("ClusterAnswer", "ClusterDemo", "open_cluster_demo"),
    "jobs.crawl_runner": (
        "CrawlRun",
        "check_seeds",
        "control_crawl",
        "crawl_status",
        "list_held",
        "queue_of_host",
        "resize_crawl",
        "run_crawl",
    ),
    "rule_jobs": ("add_rules", "find_rules", "set_server_rules"),
    "jobs.deletion_jobs": (
        "DeletionReport",
        "apply_deletions",
        "delete_pages",
        "list_deleted",
        "restore_pages",
    ),
    "jobs.embedding_jobs": (
        "embed_pages",
        "embedding_status",
        "fetch_embedding_model",
    ),
    "jobs.evaluation_jobs": ("evaluate_ranking",),
    "jobs.site_evaluation": ("evaluate_sites",),
    "jobs.index_building": ("build_graph_and_index",),
    "jobs.index_maintenance": (
        "RepairReport",
        "check_folder",
        "export_terms",
        "index_statistics",
        "repair_folder",
    ),
    "jobs.link_ranking": (
        "FolderRanks",
        "GraphRanks",
        "HostRank",
        "PageRank",
        "rank_folder",
        "rank_graph_file",
    ),
    "jobs.model_training": (
        "ModelList",
        "learn_to_rank",
        "list_ranking_models",
        "use_ranking_model",
    ),
    "jobs.page_import": (
        "import_files",
        "import_proxy_logs",
    ),
    "jobs.queries": (
        "diagnose_query",
        "explain_rank",
        "search_folder",
    ),
    "jobs.seed_lists": ("read_seeds",),
    "collection_jobs": ("change_aliases", "create_collection", "delete_collection", "list_collections"),
    "snapshot_jobs": ("SnapshotSize", "create_snapshot", "delete_snapshot", "snapshot_sizes"),
    "jobs.store_jobs": (
        "index_archive",
        "store_statistics",
        "trim_store",
    ),
    "kernel_compilation": ("compile_kernels",),
    "priority": ("lower_priority",),
    "remedies": ("with_remedy",),
    "sites.site_commands": (
        "NewSite",
        "SiteReport",
        "invite_site",
        "join_sites",
        "leave_sites",
        "make_site",
        "revoke_token",
        "site_report",
    ),
    "sites.site_demo": ("SiteDemo", "SiteDemoAnswer", "open_site_demo"),
    "sites.site_server": ("run_site",),
    "serving.agent_server": ("serve_agents",),
    "serving.folder_server": (
        "add_api_key",
        "api_keys",
        "open_server",
        "remove_api_key",
        "serve_folder",
    ),
    "serving.live_engine": ("run_live",),
    "serving.server_actions": (
        "fetch_service",
        "server_actions",
    ),
}
"""Names of this package, by the module that defines them."""
_OTHER: Final = {
    "CrawlStatistics": ("periplus.crawl", "CrawlStatistics"),
    "HeldRegion": ("periplus.crawl", "HeldRegion"),
    "HostQueue": ("periplus.crawl", "HostQueue"),
    "ShardStatus": ("periplus.crawl", "CrawlStatus"),
    "Explanation": ("periplus.evaluate", "Explanation"),
    "QueryDiagnosis": ("periplus.evaluate", "QueryDiagnosis"),
    "Evaluation": ("periplus.evaluate", "Evaluation"),
    "average_gains": ("periplus.evaluate", "average_gains"),
    "FederationReport": ("periplus.evaluate", "FederationReport"),
    "metric_rows": ("periplus.evaluate", "metric_rows"),
    "IndexStatistics": ("periplus.index", "IndexStatistics"),
    "ChangedResult": ("periplus.rank", "ChangedResult"),
    "ModelCard": ("periplus.rank", "ModelCard"),
    "PeerStatus": ("periplus.sites", "PeerStatus"),
    "result_page_as_json": ("periplus.serve", "as_json"),
}
"""Records of other packages that functions of this one return, and what shapes them."""
_LAZY: Final = {name: (f"{__name__}.{module}", name) for module, names in _OWN.items() for name in names} | _OTHER


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module, attribute = _LAZY[name]
    value = globals()[name] = getattr(import_module(module), attribute)
    return value
