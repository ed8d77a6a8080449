"""The route table: the only list of what is answered, counted, documented and permitted."""

import asyncio
import re
from typing import Any

import pytest
from asgi_caller import call, get
from fake_searcher import FakeSearcher
from starlette.routing import Route as FrameworkRoute

from periplus.serve import ROLES, Actions, ApiKeys, make_app
from periplus.serve.api.openapi import openapi_document
from periplus.serve.route_records import Access, Route
from periplus.serve.routes import ROUTES
from periplus.serve.routing import SEARCH_FORM_PATHS, SEARCH_PATHS, is_api_path, metric_label
from periplus.settings import ServeSettings

GUARDED = [route for route in ROUTES if route.permission]
PERMISSIONS = frozenset().union(*ROLES.values())


def name(route: Route) -> str:
    return f"{route.method} {route.path}"


def example(route: Route) -> str:
    """A path that the route matches."""
    return re.sub(r"\{\w+\}", "00000000000000ab", route.path)


class Forbidden:
    """Actions that must not be reached."""

    def __getattr__(self, action: str) -> Any:
        raise AssertionError(f"{action} was reached without permission")


def test_the_application_has_exactly_the_routes_of_the_table() -> None:
    app = make_app(FakeSearcher(), ServeSettings(threads=1))
    routes = [route for route in app.framework.routes if isinstance(route, FrameworkRoute)]
    assert len(routes) == len(app.framework.routes)
    answered = {
        (route.path.replace(":path}", "}"), method)
        for route in routes
        for method in (route.methods or ())
        if method != "HEAD"
    }
    assert answered == {(route.path, route.method) for route in ROUTES}
    assert len(ROUTES) == len(answered), "no row is there twice"


def test_every_row_of_the_public_api_is_documented_and_nothing_else_is() -> None:
    paths = openapi_document()["paths"]
    documented = {(path, method.upper()) for path, operations in paths.items() for method in operations}
    assert documented == {(route.path, route.method) for route in ROUTES if route.tags}
    for route in ROUTES:
        if route.tags:
            operation = paths[route.path][route.method.lower()]
            assert operation["summary"], name(route)
            assert set(operation["responses"]) == {str(status) for status in route.responses} != set()
            assert ("security" in operation) == bool(route.permission)
            assert ("requestBody" in operation) == (route.body is not None)
    page = get(make_app(FakeSearcher(), ServeSettings(threads=1)), "/api").text
    public = {route.path for route in ROUTES if route.tags}
    for route in ROUTES:
        assert (f"</span> {route.path}</code>" in page) == (route.path in public)


def test_a_default_that_is_a_setting_is_not_documented_as_a_number() -> None:
    parameters = openapi_document()["paths"]["/api/search"]["get"]["parameters"]
    schemas = {parameter["name"]: parameter["schema"] for parameter in parameters}
    assert "default" not in schemas["enough"]
    assert schemas["count"]["default"] == 10


@pytest.mark.parametrize("route", ROUTES, ids=name)
def test_every_row_has_a_metric_label(route: Route) -> None:
    assert metric_label(example(route)) == route.metric_label
    assert "{" not in route.metric_label
    assert is_api_path(example(route)) == ("text/html" not in route.media_types and bool(route.tags)) or (
        route.path.startswith("/api/")
    )


def test_other_paths_have_one_label() -> None:
    assert {metric_label(path) for path in ("/x", "/searches", "/admin/x", "/wp-login.php", "//", "")} == {"other"}


def test_requests_are_counted_under_the_labels_of_the_table() -> None:
    app = make_app(FakeSearcher(), ServeSettings(threads=1))
    for target in ("/", "/search?q=salt", "/cached/00000000000000ab", "/nowhere"):
        get(app, target)
    text = get(app, "/metrics").text
    for label in ("/", "/search", "/cached", "other"):
        assert f'route="{label}"' in text


@pytest.mark.parametrize("route", GUARDED, ids=name)
def test_a_row_with_a_permission_refuses_anonymous_callers(route: Route) -> None:
    assert route.permission in PERMISSIONS
    app = make_app(FakeSearcher(), ServeSettings(threads=1), Actions(crawl=Forbidden()))
    headers = {"content-type": "application/json"}
    answer = asyncio.run(call(app, example(route), route.method, headers, b"{}"))
    if route.access is Access.LOGIN_PAGE:
        assert 'action="/admin/login"' in answer.text
        assert "panels" not in answer.text
    else:
        assert answer.status in (401, 403)


@pytest.mark.parametrize("route", GUARDED, ids=name)
def test_a_key_opens_only_the_routes_of_its_role(route: Route) -> None:
    keys = ApiKeys(None)
    secrets = {role: keys.add(role, role) for role in ROLES}
    app = make_app(FakeSearcher(), ServeSettings(threads=1, rate=0), None, keys)
    for role, secret in secrets.items():
        headers = {"content-type": "application/json", "authorization": f"Bearer {secret}"}
        answer = asyncio.run(call(app, example(route), route.method, headers, b"{}"))
        if route.access not in (Access.KEY, Access.KEY_OR_SESSION):
            assert answer.status in (401, 403) or "/admin/login" in answer.text, "a key is not a session"
        elif route.permission in ROLES[role]:
            assert answer.status in (400, 501), f"{role} may, but this server has no actions"
        else:
            assert answer.status == 403, role


def test_a_setting_opens_a_row_to_anyone() -> None:
    open_routes = [route for route in ROUTES if route.public_setting]
    assert [route.path for route in open_routes] == ["/api/submit"]
    app = make_app(FakeSearcher(), ServeSettings(threads=1, submissions=True))
    answer = asyncio.run(call(app, "/api/submit", "POST", {"content-type": "application/json"}, b"{}"))
    assert answer.status == 501


def test_searches_are_named_in_the_table_though_the_framework_does_not_answer_them() -> None:
    assert {"/search", "/api/search", "/suggest", "/autocompleter"} == SEARCH_PATHS
    app = make_app(FakeSearcher(), ServeSettings(threads=1))
    for path in SEARCH_PATHS:
        assert get(app, path + "?q=salt").status == 200
        assert get(app, path + "?q=salt", "POST").status == (200 if path in SEARCH_FORM_PATHS else 405)
