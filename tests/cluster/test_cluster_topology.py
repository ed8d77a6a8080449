"""The topology record of a cluster: what is written is read again, and what is wrong is refused."""

import msgspec
import pytest

from periplus import __version__
from periplus.cluster import ClusterTopology, ShardRecord, decode_topology, encode_topology, new_topology
from periplus.errors import BadInput, CorruptFile, NewerFormat, WrongVersion
from periplus.files import encode_json


def test_a_topology_is_read_as_it_was_written() -> None:
    topology = new_topology(4, 2, ("https://a.example/",)).with_shard(ShardRecord(7, 3, "joining")).next_version()
    assert decode_topology(encode_topology(topology)) == topology
    assert topology.shard_numbers == (0, 1, 2, 3, 7)
    assert topology.version == 2
    assert topology.shard(7).epoch == 3


def test_shards_that_leave_own_no_hosts() -> None:
    topology = new_topology(3, 1).with_shard(ShardRecord(1, 5, "leaving"))
    assert topology.owner_numbers == (0, 2)
    assert topology.shard_numbers == (0, 1, 2)
    # Until the pages of its hosts have arrived elsewhere, it is indexed, and a shard that receives some is not.
    assert topology.with_shard(ShardRecord(3, 0, "joining")).build_numbers == (0, 1, 2)
    with pytest.raises(BadInput, match="no shard 9"):
        topology.shard(9)


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        ({"shards": ()}, "0 shards"),
        ({"shards": (ShardRecord(1), ShardRecord(1))}, "ascending"),
        ({"shards": (ShardRecord(-1),)}, "ascending"),
        ({"shards": (ShardRecord(0, -1),)}, "negative"),
        ({"shards": (ShardRecord(0, 0, "leaving"),)}, "all shards leave"),
        ({"shards": tuple(ShardRecord(number) for number in range(4097))}, "4097 shards"),
        ({"replicas": 0}, "replicas is 0"),
        ({"generation": -1}, "generation is -1"),
        ({"version": 0}, "version is 0"),
        ({"id": "../x"}, "its id"),
    ],
)
def test_a_topology_that_cannot_be_is_refused(change: dict[str, object], fault: str) -> None:
    topology = msgspec.structs.replace(new_topology(2, 1), **change)
    with pytest.raises(CorruptFile, match=fault):
        decode_topology(encode_topology(topology))


def test_damage_is_recognised() -> None:
    data = bytearray(encode_topology(new_topology(2, 1)))
    data[data.index(b"replicas") + 11] ^= 1
    with pytest.raises(CorruptFile, match="checksum"):
        decode_topology(bytes(data))
    with pytest.raises(CorruptFile, match="bytes"):
        decode_topology(b" " * (9 << 20))
    with pytest.raises(CorruptFile):
        decode_topology(b'{"format": 1}')


def test_other_versions_and_formats_are_named() -> None:
    topology = new_topology(2, 1)
    with pytest.raises(NewerFormat, match="format 9"):
        decode_topology(encode_json({"format": 9}))
    other = encode_topology(msgspec.structs.replace(topology, periplus="9.8.7"))
    with pytest.raises(WrongVersion) as refusal:
        decode_topology(other)
    assert "9.8.7" in str(refusal.value)
    assert __version__ in str(refusal.value)
    assert decode_topology(other, same_version=False).periplus == "9.8.7"


def test_a_cluster_without_shards_is_not_made() -> None:
    with pytest.raises(BadInput, match="0 shards"):
        new_topology(0, 1)
    assert isinstance(new_topology(1, 1), ClusterTopology)
