"""What a crawl holds back, read from the snapshots of its shards while it may be running."""

from pathlib import Path

from periplus.crawl.crawl_snapshot import read_snapshot
from periplus.crawl.regions.regions import HeldRegion, RegionTable
from periplus.crawl.sharding.topology import read_topology, shard_dir
from periplus.errors import BadInput

__all__ = ["held_regions"]


def held_regions(folder: Path) -> list[HeldRegion]:
    """Return the regions of which URLs are held back, the largest first; raise `BadInput` if there is no crawl."""
    snapshots = [read_snapshot(shard_dir(folder, number) / "frontier.bin") for number in read_topology(folder).shards]
    tables = [RegionTable(snapshot.regions) for snapshot in snapshots if snapshot is not None]
    if not tables:
        raise BadInput(f"There was no crawl in {folder}.")
    return sorted((region for table in tables for region in table.held()), key=lambda region: -region.held)
