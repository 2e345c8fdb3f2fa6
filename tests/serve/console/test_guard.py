"""What the console lets through and what it lets out, asked of a real server over HTTP."""

from __future__ import annotations

import http.client
import json
import re
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from urllib.parse import urlencode

import pytest

from probe_sql.serve.console.guard import Address
from probe_sql.serve.limits import Limits
from probe_sql.serve.users import add_user, change_password, remove_user
from tests.conftest import Run
from tests.serve.conftest import PASSWORD
from tests.serve.console.conftest import CHEAP, OWNER, Client, Open, Served

PAGES = ("/", "/answers", "/owner", "/owner/ledger.csv", "/owner/policy.toml", "/answers/1-abc",
         "/asking/none", "/asking/none/state", "/static/style.css", "/enter/none")  # fmt: skip
FORMS = ("/ask", "/plan", "/explain", "/complete", "/asking/none/cancel", "/leave",
         "/owner/unlock", "/owner/users/set", "/owner/users/remove")  # fmt: skip


@pytest.fixture(scope="module")
def client(console: Served) -> Client:
    return Client(console).sign_in()


# --- headers -------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", [*PAGES, "/nowhere"])
def test_every_page_is_walled_in(client: Client, path: str) -> None:
    client.get(path)
    policy = client.headers["content-security-policy"]
    assert "unsafe" not in policy
    assert "default-src 'none'" in policy
    assert "frame-ancestors 'none'" in policy
    assert re.search(r"style-src 'self' 'nonce-[\w-]{20,}'", policy)
    assert client.headers["x-content-type-options"] == "nosniff"
    assert client.headers["referrer-policy"] == "no-referrer"
    expected = "no-cache" if path.startswith("/static") else "no-store"
    assert client.headers["cache-control"] == expected
    assert "server" not in client.headers


def test_each_page_has_a_nonce_of_its_own(client: Client) -> None:
    seen = set()
    for _ in range(3):
        client.get("/")
        seen.add(re.findall("nonce-([^']*)", client.headers["content-security-policy"])[0])
    assert len(seen) == 3


def test_the_cookie_is_for_this_site_alone_and_for_no_script(console: Served) -> None:
    client = Client(console)
    client.post("/enter", {"name": "maria", "password": PASSWORD})
    cookie = client.headers["set-cookie"].lower()
    assert "httponly" in cookie
    assert "samesite=lax" in cookie
    assert "path=/" in cookie
    assert str(console.console_port) in cookie
    assert "domain" not in cookie


# --- where a request comes from ------------------------------------------------------------------


@pytest.mark.parametrize(
    "host", ["evil.example", "127.0.0.1:1", "127.0.0.1.evil.example", "localhost", ""]
)
def test_a_foreign_host_sees_nothing(client: Client, host: str) -> None:
    status, text = client.get("/", Host=host or "x")
    assert status == 403
    assert "maria" not in text


def test_local_names_are_this_server(client: Client, console: Served) -> None:
    assert client.get("/", Host=f"localhost:{console.console_port}")[0] == 200


@pytest.mark.parametrize("path", FORMS)
@pytest.mark.parametrize(
    ("origin", "site"),
    [
        ("https://evil.example", "cross-site"),
        ("http://127.0.0.1:1", "same-site"),
        ("null", "cross-site"),
        ("null", ""),
        ("", ""),
        ("OURS", "cross-site"),
        ("file://", "none"),
    ],
)
def test_forms_of_other_pages_do_nothing(
    client: Client, console: Served, path: str, origin: str, site: str
) -> None:
    before = console.spent
    given = console.url if origin == "OURS" else origin
    fields = {"sql": CHEAP, "key": "k", "agreed": "9", "sure": "yes"}
    status, _ = client.post(path, fields, Origin=given, Sec_Fetch_Site=site)
    assert status == 403
    assert console.spent == before


@pytest.mark.parametrize("path", FORMS)
@pytest.mark.parametrize("token", ["", "wrong", "é"])
def test_a_form_without_the_token_of_its_session_does_nothing(
    client: Client, console: Served, path: str, token: str
) -> None:
    other = Client(console).sign_in("noor")
    for csrf in (token, other.csrf):
        fields = {"csrf": csrf, "sql": CHEAP, "key": "k", "agreed": "9", "sure": "yes"}
        assert client.post(path, fields)[0] == 403
    assert client.get("/")[0] == 200  # nobody was signed out


def test_a_form_that_says_null_as_its_origin_is_ours_if_the_browser_says_so(
    client: Client,
) -> None:
    """Pages that send no referrer have forms without an origin."""
    status, _ = client.post("/plan", {"sql": CHEAP}, Origin="null", Sec_Fetch_Site="same-origin")
    assert status == 200


@pytest.mark.parametrize("method", ["PUT", "DELETE", "PATCH", "OPTIONS", "TRACE"])
def test_other_methods_do_nothing(client: Client, method: str) -> None:
    assert client.request(method, "/ask")[0] in (403, 405)


def test_half_a_character_and_a_thousand_conditions_are_no_surprise(client: Client) -> None:
    assert client.send("/explain", {"sql": "SELECT '\ud800' FROM patients"})["problems"]
    many = " OR ".join(f"age = {number}" for number in range(1000))
    sql = f"SELECT count(*) AS n FROM patients WHERE {many}"
    found = client.send("/explain", {"sql": sql})
    assert "slow" in found or "plan" in found
    assert "surprise" not in client.served.log


def test_a_policy_that_is_not_in_order_is_told_to_the_owner(open_console: Open) -> None:
    served = open_console()
    owner = Client(served).sign_in(OWNER)
    (served.folder / "clinic.toml").write_text("this is no policy")
    status, text = owner.get("/owner")
    assert status == 500
    assert "This page cannot be shown" in text
    assert "content-security-policy" in owner.headers


def test_who_signed_in_and_what_was_answered_is_logged(open_console: Open) -> None:
    served = open_console()
    client = Client(served).sign_in()
    client.ask(CHEAP)
    client.get("/owner")
    log = [json.loads(line) for line in served.log.splitlines()]
    told = [(line["event"], line["user"]) for line in log if line.get("door") == "console"]
    assert told == [("session", "maria"), ("answer", "maria"), ("no owner", "maria")]


def test_questions_are_forgotten_with_the_last_session(open_console: Open) -> None:
    served = open_console()
    door = served.server.console
    assert door is not None
    one, two = Client(served).sign_in(), Client(served).sign_in()
    one.ask(CHEAP)
    one.post("/leave", {})
    assert door.site.asked._of["maria"]
    two.post("/leave", {})
    assert not door.site.asked._of["maria"]
    assert not door.site.asked._keys


def test_too_much_is_refused(client: Client) -> None:
    assert client.post("/plan", {"sql": "x" * 500_000})[0] == 413


def test_a_body_that_does_not_come_keeps_nobody(open_console: Open) -> None:
    served = open_console(Limits(message_seconds=0.5))
    link = http.client.HTTPConnection("127.0.0.1", served.console_port, timeout=10)
    link.putrequest("POST", "/enter")
    for name, value in (("Origin", served.url), ("Content-Length", "100"),
                        ("Content-Type", "application/x-www-form-urlencoded")):  # fmt: skip
        link.putheader(name, value)
    link.endheaders()
    link.send(b"name=maria")
    assert link.getresponse().status == 408
    link.close()


def test_what_is_no_http_ends_no_server(console: Served) -> None:
    for raw in (b"\0" * 100, b"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", b"GET\r\n\r\n"):
        link = http.client.HTTPConnection("127.0.0.1", console.console_port, timeout=5)
        link.connect()
        assert link.sock is not None
        link.sock.sendall(raw)
        link.sock.recv(1000)
        link.close()
    assert Client(console).get("/")[0] == 401


# --- sessions ------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", [path for path in PAGES if not path.startswith("/static")])
def test_without_a_session_there_is_the_door_and_nothing_else(console: Served, path: str) -> None:
    status, text = Client(console).get(path)
    assert status == 401
    assert "patients" not in text


def test_signing_out_ends_the_session_for_whoever_has_its_cookie(console: Served) -> None:
    client, thief = Client(console).sign_in(), Client(console)
    thief.cookie = client.cookie
    assert thief.get("/")[0] == 200
    assert client.post("/leave", {})[0] == 303
    assert thief.get("/")[0] == 401


def test_removal_and_another_password_end_sessions(open_console: Open, clinic: Path) -> None:
    served, users = open_console(), clinic / "clinic.duckdb.ledger.users"
    maria, noor = Client(served).sign_in("maria"), Client(served).sign_in("noor")
    change_password(users, "maria", "another password")
    assert maria.get("/")[0] == 401
    assert noor.get("/")[0] == 200
    remove_user(users, "noor")
    assert noor.get("/")[0] == 401
    assert Client(served).sign_in("maria", "another password").get("/")[0] == 200


def test_an_idle_session_ends(open_console: Open) -> None:
    client = Client(open_console(Limits(idle_seconds=0.3))).sign_in()
    time.sleep(1.2)
    status, text = client.post("/plan", {"sql": "SELECT 7 AS seven"})
    assert status == 401
    assert "signed out meanwhile" in text
    assert "SELECT 7 AS seven" in text  # it comes back after signing in


def test_names_and_passwords_that_are_wrong_are_told_alike(console: Served) -> None:
    texts = set()
    for name in ("maria", "nobody"):
        status, text = Client(console).post("/enter", {"name": name, "password": "wrong wrong"})
        assert status == 403
        texts.add(re.sub(r'name="name"[^>]*>', "", text).replace(_nonce(text), ""))
    assert len(texts) == 1


def _nonce(text: str) -> str:
    found = re.search(r'"nonce":"([^"]*)"', text)
    assert found is not None
    return found[1]


def test_after_signing_in_one_stays_on_this_site(console: Served) -> None:
    for path in ("//evil.example", "https://evil.example", "/\\evil.example", "/a\r\nX: y"):
        client = Client(console)
        client.post("/enter", {"name": "maria", "password": PASSWORD, "after": path})
        assert client.headers["location"] == "/"


def test_who_signs_in_too_often_loses_the_oldest_session(console: Served) -> None:
    clients = [Client(console).sign_in("noor") for _ in range(22)]
    assert [one.get("/")[0] for one in (clients[0], clients[1], clients[-1])] == [401, 401, 200]


def test_a_secret_of_a_cookie_is_kept_as_its_digest_alone(console: Served) -> None:
    client = Client(console).sign_in()
    secret = client.cookie.partition("=")[2]
    known = console.server.console
    assert known is not None
    assert secret not in known.site.entrance.visitors._known
    assert secret not in console.log


# --- owners --------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", [path for path in PAGES if path.startswith("/owner")])
def test_analysts_see_nothing_of_the_owners(client: Client, path: str) -> None:
    status, text = client.get(path)
    assert status == 403
    assert "noor" not in text


@pytest.mark.parametrize("path", [path for path in FORMS if path.startswith("/owner")])
def test_analysts_do_nothing_of_the_owners(client: Client, path: str) -> None:
    fields = {"user": "x", "name": "eve", "password": "long enough", "sure": "yes", "owner": "yes"}
    assert client.post(path, fields)[0] == 403


def test_an_owner_who_is_one_no_more_sees_nothing(open_console: Open, clinic: Path) -> None:
    served, users = open_console(), clinic / "clinic.duckdb.ledger.users"
    client = Client(served).sign_in(OWNER)
    assert client.get("/owner")[0] == 200
    remove_user(users, OWNER)
    add_user(users, OWNER, PASSWORD)
    assert client.get("/owner")[0] == 401
    assert Client(served).sign_in(OWNER).get("/owner")[0] == 403


def test_an_owner_manages_users(open_console: Open) -> None:
    served = open_console()
    owner = Client(served).sign_in(OWNER)
    status, text = owner.post("/owner/users/set", {"name": "eve", "password": "long enough"})
    assert (status, "eve may log in" in text) == (200, True)
    eve = Client(served).sign_in("eve", "long enough")
    owner.post("/owner/users/set", {"name": "eve", "password": "another one"})
    assert eve.get("/")[0] == 401
    assert "Remove eve?" in owner.post("/owner/users/remove", {"name": "eve"})[1]
    Client(served).sign_in("eve", "another one")
    owner.post("/owner/users/remove", {"name": "eve", "sure": "yes"})
    assert Client(served).post("/enter", {"name": "eve", "password": "another one"})[0] == 403
    assert owner.post("/owner/users/remove", {"name": OWNER, "sure": "yes"})[0] == 400
    assert "fewer than 8" in owner.post("/owner/users/set", {"name": "x", "password": "short"})[1]


# --- the command ---------------------------------------------------------------------------------


def test_the_command_refuses_a_console_that_nobody_could_use(clinic: Path, run: Run) -> None:
    source = str(clinic / "clinic.duckdb")
    for words, text in (
        (("serve", source, "--console-port", "0"), "add --console"),
        (("serve", source, "--console", "--no-login"), "needs users who log in"),
        (("console", source), "--analyst maria"),
        (("console", source, "--analyst", "eve"), "--analyst maria"),
        (("user", source, "list", "--owner"), "--owner goes with add"),
    ):  # fmt: skip
        ended = run(*words)
        assert ended.code in (1, 2)
        assert text in ended.err


def test_an_address_that_no_browser_types_needs_a_name(clinic: Path) -> None:
    """In a process of its own: a browser of other tests may have this one's event loop."""
    words = ("serve", str(clinic / "clinic.duckdb"), "--console", "--host", "0.0.0.0",
             "--port", "0", "--tls-self-signed")  # fmt: skip
    ended = subprocess.run(
        [sys.executable, "-m", "probe_sql", *words],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert ended.returncode == 1
    assert "--console-name" in ended.stderr


def test_names_by_which_browsers_may_come() -> None:
    address = Address("10.0.0.1", 8432, True, False, ("clinic.example.org", "other:443"))
    for host in ("clinic.example.org", "CLINIC.example.org:8432", "other:443", "10.0.0.1:8432"):
        assert address.answers_to(host)
    for host in ("other", "localhost:8432", "10.0.0.1", "x.clinic.example.org", "10.0.0.1:1"):
        assert not address.answers_to(host)


def test_over_tls_cookies_are_for_tls_alone(open_console: Open) -> None:
    served = open_console()
    door = served.server.console
    assert door is not None
    client = Client(served)
    assert "__Host-" not in Client(served).sign_in().cookie
    local, names = door.address, ("clinic.example.org",)
    door._address = door.site.entrance.address = replace(local, names=names)  # behind a proxy
    body = urlencode({"name": "maria", "password": PASSWORD}).encode()
    kind = "application/x-www-form-urlencoded"
    _, headers, _ = client.request(
        "POST", "/enter", body, Host=names[0], Content_Type=kind, Origin=f"https://{names[0]}"
    )
    assert headers["set-cookie"].startswith("__Host-probe-sql-")
    assert "; secure" in headers["set-cookie"].lower()
