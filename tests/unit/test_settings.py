"""The settings tree, and what it refuses."""

import pytest
from pydantic import ValidationError

from foundation.access import parse_acl, require_safe_address
from foundation.errors import ConfigurationError, InvalidInput
from foundation.settings import AdapterSettings, Settings
from foundation.stores import Stores


def test_the_environment_fills_nested_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ASKLINE_SERVICE__PORT", "8123")
    monkeypatch.setenv("ASKLINE_INGESTION__SCAN_ACL", "user:ana, group:nurses")
    settings = Settings()
    assert settings.service.port == 8123
    assert settings.ingestion.scan_acl == ("user:ana", "group:nurses")


def test_an_unknown_nested_setting_is_refused_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ASKLINE_SERVICE__PROT", "8123")
    with pytest.raises(ValidationError, match=r"service\.PROT|service\.prot"):
        Settings()


def test_a_port_follows_the_profile_unless_it_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ASKLINE_ADAPTERS__CACHE", "aws")
    settings = Settings()
    assert (settings.adapter("cache"), settings.adapter("graph")) == ("aws", "embedded")
    with pytest.raises(ConfigurationError, match="ASKLINE_REDIS__URL"):
        _ = Stores(settings).cache


def test_aws_without_its_packages_says_how_to_get_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("foundation.aws_stores.find_spec", lambda name: None)
    stores = Stores(Settings(adapters=AdapterSettings(objects="aws")))
    for wanted in (lambda: stores.landing, lambda: stores.embedder_of("titan-embed-text-v2")):
        with pytest.raises(ConfigurationError) as raised:
            wanted()
        assert "make install-aws" in raised.value.fix


def test_beyond_loopback_without_keys_is_refused() -> None:
    for host in ("127.0.0.1", "::1", "localhost", "127.5.5.5"):
        require_safe_address(host, has_keys=False)
    for host in ("0.0.0.0", "192.168.1.5", "::", "example.org"):
        with pytest.raises(ConfigurationError, match="keys"):
            require_safe_address(host, has_keys=False)
        require_safe_address(host, has_keys=True)


def test_acl_entries_have_one_spelling_and_one_form() -> None:
    assert parse_acl(["user:Alice@X.org", "user:alice@x.org", "public"]) == ("public", "user:alice@x.org")
    for wrong in ("alice", "user:", "user:a b", "role:x", ""):
        with pytest.raises(InvalidInput):
            parse_acl([wrong])
