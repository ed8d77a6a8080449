"""Settings: last one wins, nothing unknown or out of range gets through, and every row explains itself."""

from pathlib import Path

import pytest

from periplus.errors import SettingsError
from periplus.settings import OLD_NAMES, Settings, load, table


def test_defaults_need_nothing() -> None:
    assert load(None, {}) == Settings()


def test_file_then_environment_then_flags(tmp_path: Path) -> None:
    file = tmp_path / "periplus.toml"
    file.write_text("[fetch]\ntimeout = 5\nconnections = 7\nconnect_timeout = 2.5\n")
    environment = {"PERIPLUS_FETCH_TIMEOUT": "6", "PERIPLUS_FETCH_CONNECTIONS": "8", "HOME": "/nowhere"}
    settings = load(file, environment, ["fetch.timeout=9"])
    assert (settings.fetch.timeout, settings.fetch.connections, settings.fetch.connect_timeout) == (9.0, 8, 2.5)


def test_a_flag_reaches_every_kind_of_value() -> None:
    flags = [
        "folder=x",
        "crawl.sitemaps=false",
        "fetch.allow=127.0.0.0/8, 10.0.0.0/8",
        "graph.damping=0.5",
        "crawl.pages=3",
    ]
    settings = load(None, {}, flags)
    assert settings.folder == "x"
    assert settings.crawl.sitemaps is False
    assert settings.fetch.allow == ("127.0.0.0/8", "10.0.0.0/8")
    assert (settings.graph.damping, settings.crawl.pages) == (0.5, 3)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[fetch]\ntimout = 5\n", "Unknown setting 'fetch.timout' in"),
        ("[fetsh]\ntimeout = 5\n", "Unknown setting 'fetsh' in"),
        ("[fetch]\ntimeout = 'soon'\n", "fetch.timeout has a wrong value, 'soon', in "),
        ("[fetch]\nallow = [1]\n", "fetch.allow has a wrong value"),
        ("[fetch]\ntimeout = -1\n", "wrong value"),
        ("fetch = 3\n", "fetch"),
        ("[folder]\na = 1\n", "wrong value"),
        ("[fetch\n", "is not TOML"),
    ],
)
def test_a_bad_file_is_refused_by_name(tmp_path: Path, text: str, says: str) -> None:
    file = tmp_path / "periplus.toml"
    file.write_text(text)
    with pytest.raises(SettingsError) as caught:
        load(file, {})
    assert says in str(caught.value)


@pytest.mark.parametrize(
    ("flag", "says"),
    [
        ("fetch.timout=3", "Did you mean 'fetch.timeout'?"),
        ("fetch.timeout", "name=value"),
        ("zzz=1", "docs/settings.md"),
        ("serve.port=99999", "wrong value"),
        ("crawl.scope=moon", "'moon', on the command line: give one of host, domain, web."),
        ("=", "Unknown setting"),
    ],
)
def test_a_bad_flag_is_refused_with_a_hint(flag: str, says: str) -> None:
    with pytest.raises(SettingsError) as caught:
        load(None, {}, [flag])
    assert says in str(caught.value)


def test_a_misspelt_variable_is_refused_and_a_foreign_one_is_not() -> None:
    with pytest.raises(SettingsError, match=r"fetch\.timeoutt.*Did you mean 'fetch\.timeout'"):
        load(None, {"PERIPLUS_FETCH_TIMEOUTT": "3"})
    assert load(None, {"PERIPLUS_HOME": "/x", "PATH": "/bin"}) == Settings()


def test_a_file_that_is_not_there_or_not_text_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="Cannot read"):
        load(tmp_path / "none.toml", {})
    (tmp_path / "bytes.toml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(SettingsError, match="is not TOML"):
        load(tmp_path / "bytes.toml", {})


def test_the_table_has_every_setting_once_with_help() -> None:
    rows = table()
    names = [row.name for row in rows]
    assert len(names) == len(set(names))
    assert {"folder", "fetch.timeout", "serve.port"} <= set(names)
    assert [row.name for row in rows if len(row.help) < 10 or row.help.endswith(".")] == []


def test_every_default_survives_its_own_rules() -> None:
    for row in table():
        value = ",".join(row.default) if isinstance(row.default, tuple) else row.default
        assert load(None, {}, [f"{row.name}={value}"]) == Settings(), row.name


# --- old names ---


def renamed(file: Path | None = None, environment: dict[str, str] | None = None, flags: tuple[str, ...] = ()):
    """Load settings; return them with the warnings."""
    warnings: list[str] = []
    return load(file, environment or {}, flags, warnings.append), warnings


def test_old_names_lead_to_settings_that_exist() -> None:
    rows = {row.name: row for row in table()}
    assert [new for new in OLD_NAMES.values() if new not in rows] == []
    assert [old for old in OLD_NAMES if old in rows] == []


@pytest.mark.parametrize(("old", "new"), OLD_NAMES.items())
def test_every_old_name_works_in_every_source_with_a_warning(tmp_path: Path, old: str, new: str) -> None:
    row = next(row for row in table() if row.name == new)
    value = "gzip" if new == "store.warc" else other_value(row.default)
    wanted = load(None, {}, [f"{new}={value}"])
    assert wanted != Settings()
    section, _, name = old.partition(".")
    (tmp_path / "periplus.toml").write_text(f"[{section}]\n{name} = {as_toml(row.default, value)}\n")
    for settings, warnings in (
        renamed(tmp_path / "periplus.toml"),
        renamed(None, {f"PERIPLUS_{old.replace('.', '_').upper()}": value}),
        renamed(None, {}, (f"{old}={value}",)),
    ):
        assert settings == wanted
        assert len(warnings) == 1
        assert f"'{old}'" in warnings[0]
        assert f"'{new}'" in warnings[0]


def other_value(default: object) -> str:
    """A valid value that is not the default."""
    if isinstance(default, bool):
        return str(not default).lower()
    if isinstance(default, int):
        return str(default + 1) if default != 2 else "3"
    if isinstance(default, float):
        return str(default / 2)
    return "x"


def as_toml(default: object, value: str) -> str:
    if isinstance(default, tuple):
        return f'["{value}"]'
    return f'"{value}"' if isinstance(default, str) else value


def test_both_names_in_one_source_are_an_error(tmp_path: Path) -> None:
    file = tmp_path / "periplus.toml"
    file.write_text("[semantic]\non = true\n[embeddings]\nenabled = false\n")
    message = r"'semantic\.on' and 'embeddings\.enabled' are both given .*Remove 'semantic\.on', the old name"
    with pytest.raises(SettingsError, match=message):
        load(file, {})
    with pytest.raises(SettingsError, match="both given in the environment"):
        load(None, {"PERIPLUS_FETCH_HOSTS": "a", "PERIPLUS_FETCH_HOSTS_FILE": "b"})
    with pytest.raises(SettingsError, match="both given on the command line"):
        load(None, {}, ["serve.names=a", "serve.host_names=b"])


def test_an_old_name_in_an_earlier_source_gives_way_to_the_new_one(tmp_path: Path) -> None:
    file = tmp_path / "periplus.toml"
    file.write_text("[crawl]\nblock = 'old'\n")
    settings, warnings = renamed(file, {}, ("crawl.blocklist=new",))
    assert settings.crawl.blocklist == "new"
    assert len(warnings) == 1


def test_an_unknown_name_in_an_old_section_is_an_error(tmp_path: Path) -> None:
    file = tmp_path / "periplus.toml"
    file.write_text("[semantic]\nonn = true\n")
    with pytest.raises(SettingsError, match=r"Unknown setting 'semantic\.onn'"):
        load(file, {})
    file.write_text("semantic = 3\n")
    with pytest.raises(SettingsError, match=r"'semantic' in .* is a section"):
        load(file, {})


def test_without_a_listener_an_old_name_is_a_python_warning() -> None:
    with pytest.warns(FutureWarning, match=r"'semantic\.on' .* is now called 'embeddings\.enabled'"):
        load(None, {"PERIPLUS_SEMANTIC_ON": "true"})
