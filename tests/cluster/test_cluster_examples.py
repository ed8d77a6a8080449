"""The examples of docs/cluster.md: they are valid for the programs that read them."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from periplus import __version__
from periplus.settings import load

EXAMPLES = Path(__file__).resolve().parents[2] / "examples" / "cluster"


def read(name: str) -> list[dict[str, Any]]:
    return list(yaml.safe_load_all((EXAMPLES / name).read_text("utf-8")))


def test_the_settings_are_read() -> None:
    settings = load(EXAMPLES / "periplus.toml", {})
    assert settings.cluster.address == "auto"
    assert settings.cluster.replicas == 2
    assert settings.storage.url.startswith("s3://")


def test_the_launcher_accepts_its_file() -> None:
    commands = pytest.importorskip("ray.autoscaler._private.util", reason="Ray is not installed")
    (config,) = read("ray-cluster.yaml")
    commands.validate_config(commands.prepare_config(config))
    assert set(config["file_mounts"]) == {"/home/periplus/periplus.toml", "/home/periplus/cluster.key"}


def test_versions_in_the_examples_are_ours() -> None:
    for name in ("ray-cluster.yaml", "kuberay.yaml"):
        text = (EXAMPLES / name).read_text("utf-8")
        assert f"periplus[cluster]=={__version__}" in text


def test_the_kuberay_file_is_complete() -> None:
    settings, cluster, service = read("kuberay.yaml")
    assert settings["data"]["periplus.toml"]
    spec = cluster["spec"]
    groups = [spec["headGroupSpec"], *spec["workerGroupSpecs"]]
    for group in groups:
        pod = group["template"]["spec"]
        volumes = {volume["name"] for volume in pod["volumes"]}
        for container in [*pod["containers"], *pod["initContainers"]]:
            assert {mount["name"] for mount in container["volumeMounts"]} <= volumes
    assert service["spec"]["selector"]["ray.io/cluster"] == cluster["metadata"]["name"]
    assert service["spec"]["selector"]["ray.io/group"] == spec["workerGroupSpecs"][0]["groupName"]


def test_the_settings_in_the_kuberay_file_are_read(tmp_path: Path) -> None:
    file = tmp_path / "periplus.toml"
    file.write_text(read("kuberay.yaml")[0]["data"]["periplus.toml"])
    assert load(file, {}).cluster.key_file == "/data/cluster.key"
