"""The records of sites: what is refused, and how topologies are merged."""

from pathlib import Path
from typing import Any

import msgspec
import pytest

from periplus.errors import BadInput, CorruptFile
from periplus.sites import Place, SiteRecord, SiteTopology, decode_site_topology, encode_site_topology
from periplus.sites.messaging.site_keys import SiteKey, make_site_key, sign_record, verify_record
from periplus.sites.site_topology import check_record, merge_records

_ZURICH = SiteRecord(name="zurich", place=Place(47.4, 8.5), languages=("de", "fr"), key="a" * 64)
_TOKYO = SiteRecord(name="tokyo", place=Place(35.7, 139.7), languages=("ja",), key="b" * 64)


def _topology(*sites: SiteRecord) -> SiteTopology:
    return SiteTopology(network="net", sites=tuple(sorted(sites, key=lambda site: site.name)))


def test_a_topology_survives_its_file() -> None:
    topology = _topology(_ZURICH, _TOKYO)
    assert decode_site_topology(encode_site_topology(topology)) == topology
    assert topology.names == ("tokyo", "zurich")
    assert [site.name for site in topology.others("zurich")] == ["tokyo"]
    with pytest.raises(BadInput, match="no site"):
        topology.site("rome")


def test_a_damaged_file_is_refused() -> None:
    data = bytearray(encode_site_topology(_topology(_ZURICH)))
    data[data.index(b"zurich")] ^= 1
    with pytest.raises(CorruptFile):
        decode_site_topology(bytes(data))


@pytest.mark.parametrize(
    "change",
    [
        {"name": "Zürich"},
        {"name": ""},
        {"name": "a" * 33},
        {"name": "a.b"},
        {"name": "zurich\n"},
        {"name": "local"},
        {"name": "join"},
        {"key": "zz"},
        {"version": 0},
        {"place": Place(91.0, 0.0)},
        {"place": Place(float("nan"), 0.0)},
        {"address": "no port"},
        {"address": "host:port"},
        {"languages": ("German",)},
        {"certificate": "x" * 10_000},
    ],
)
def test_a_record_that_cannot_be_used_is_named(change: dict[str, object]) -> None:
    record = msgspec.structs.replace(_ZURICH, **change)
    assert check_record(_ZURICH) is None
    assert check_record(record)
    with pytest.raises(CorruptFile):
        decode_site_topology(encode_site_topology(_topology(record)))


def test_of_each_site_the_newer_record_wins_in_any_order() -> None:
    newer = msgspec.structs.replace(_TOKYO, version=2, left=True)
    one = merge_records(merge_records(_topology(_ZURICH), (_TOKYO,)).topology, (newer,))
    other = merge_records(merge_records(_topology(_ZURICH), (newer,)).topology, (_TOKYO,))
    assert one.topology == other.topology == _topology(_ZURICH, newer)
    assert one.changed == ("tokyo",)
    assert other.changed == ()
    assert one.topology.names == ("zurich",)


def test_a_second_site_of_one_name_is_not_accepted() -> None:
    double = msgspec.structs.replace(_ZURICH, key="c" * 64, version=99)
    change = merge_records(_topology(_ZURICH), (double,))
    assert change.topology == _topology(_ZURICH)
    assert change.conflicts == (double,)


def test_no_text_that_a_nats_server_signs_is_a_record(tmp_path: Path) -> None:
    key = make_site_key(tmp_path / "key.pem")
    record = msgspec.structs.replace(_ZURICH, key=key.public, left=True, version=9)
    body = msgspec.json.encode(record)
    signed: list[bytes] = []

    class _Recorder:
        def public_key(self) -> Any:
            return key._private.public_key()

        def sign(self, data: bytes) -> bytes:
            signed.append(data)
            return key._private.sign(data)

    assert verify_record(sign_record(SiteKey(_Recorder()), record))  # type: ignore[arg-type]
    with pytest.raises(UnicodeDecodeError):  # a nonce is a string of JSON
        signed[0].decode()
    nonce = signed[0].decode("utf-8", "ignore").encode()
    assert nonce.endswith(body)
    forged = msgspec.structs.replace(record, signature=key._private.sign(nonce).hex())
    assert not verify_record(forged)
