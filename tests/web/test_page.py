"""The page over the whole stack: ask, check the source, follow the lineage, upload, delete."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from page_actions import PATIENCE_MS, SAMPLES, UPLOADED, Site, Watch, ask, choose_file, drop_file, row_of
from playwright.sync_api import Page, Route, expect

pytestmark = pytest.mark.slow

PDF, CSV, DOCX = UPLOADED
PDF_QUESTION = "What should the blood glucose level of people with diabetes be before meals?"
DOCX_QUESTION = "How long is a referral valid and how many visits does it cover?"
TABLE_QUESTION = "How many encounters are there per encounter class?"
_YELLOW_PIXELS = """image => {
  const canvas = document.createElement('canvas');
  canvas.width = image.naturalWidth; canvas.height = image.naturalHeight;
  const pen = canvas.getContext('2d');
  pen.drawImage(image, 0, 0);
  const { data } = pen.getImageData(0, 0, canvas.width, canvas.height);
  let lit = 0;
  for (let i = 0; i < data.length; i += 4) if (data[i] > 240 && data[i + 1] > 220 && data[i + 2] < 190) lit += 1;
  return lit;
}"""


def test_a_mark_of_an_answer_from_a_pdf_shows_the_page_with_the_span_lit(open_page: Callable[..., Page]) -> None:
    page = open_page()
    answer = ask(page, PDF_QUESTION)
    expect(answer).to_contain_text("70 to 130")
    expect(answer.locator(".badge").first).to_have_text("Answered")
    answer.locator("button.mark").first.click()
    panel = page.locator("#panel")
    expect(panel.get_by_role("heading", name=re.compile(r"\[1\] " + re.escape(PDF)))).to_be_focused()
    image = panel.locator("img.page")
    image.wait_for()
    assert image.evaluate(_YELLOW_PIXELS) > 500
    expect(panel).to_contain_text("see LICENCES.md")
    expect(panel).to_contain_text("Active version")
    page.keyboard.press("Escape")
    expect(panel).to_be_hidden()
    expect(answer.locator("button.mark").first).to_be_focused()


def test_a_mark_of_an_answer_from_a_word_file_shows_its_text_with_the_quote_marked(
    open_page: Callable[..., Page], site: Site
) -> None:
    page = open_page()
    answer = ask(page, DOCX_QUESTION)
    answer.locator("button.mark").first.click()
    mark = page.locator("#panel .context mark")
    mark.wait_for()
    assert "180 days" in mark.inner_text()
    assert len(page.locator("#panel .context").inner_text()) > len(mark.inner_text()) + 200


def test_the_lineage_of_an_answer_leads_to_sha256_and_the_dagster_run(
    open_page: Callable[..., Page], site: Site
) -> None:
    page = open_page()
    ask(page, DOCX_QUESTION).get_by_role("button", name="Lineage").click()
    chain = page.locator(".chain")
    chain.wait_for()
    for kind in ("answer", "claim", "citation", "chunk", "version", "object", "run"):
        assert chain.locator(f"li.kind-{kind}").count() >= 1, kind
    version = site.client.get(f"/documents/{site.uploaded[DOCX]}")["version_id"]
    expect(chain.locator("li.kind-version").first).to_contain_text(f"sha256 {version}")
    run = chain.locator("li.kind-run a").first.get_attribute("href")
    assert run is not None and run.startswith(f"{site.dagster_url}/runs/")
    chain.locator("li.kind-chunk a").first.click()
    expect(page.locator("#panel pre")).to_contain_text('"cut from"')
    page.get_by_role("button", name="Back").click()
    chain.wait_for()


def test_sql_is_shown_with_its_rows_and_runs_again_when_edited(open_page: Callable[..., Page], watch: Watch) -> None:
    page = open_page()
    answer = ask(page, TABLE_QUESTION)
    sql = answer.locator("section.sql")
    expect(sql.locator("pre.statement")).to_contain_text("COUNT(*)")
    sql.locator("summary").click()
    shown = sql.get_by_role("region", name="Rows of the statement").locator("tbody tr").count()
    assert shown > 2
    sql.get_by_role("button", name="Edit and run").click()
    sql.get_by_role("button", name="Run", exact=True).click()
    result = sql.get_by_role("region", name="Result")
    expect(result.locator("tbody tr")).to_have_count(shown)
    sql.get_by_label("Read-only SQL").fill("SELECT count(*) AS n FROM encounters")
    sql.get_by_label("Read-only SQL").press("Control+Enter")
    expect(result.locator("tbody")).to_have_text("954")
    watch.refusals_expected = True
    sql.get_by_label("Read-only SQL").fill("DELETE FROM encounters")
    sql.get_by_role("button", name="Run", exact=True).click()
    expect(sql.locator(".problem")).to_contain_text("rule")


def test_how_an_answer_came_about_names_routes_reasons_and_times(open_page: Callable[..., Page]) -> None:
    page = open_page()
    how = ask(page, TABLE_QUESTION).locator("details.how")
    how.locator("summary").click()
    expect(how.locator(".routes li").first).to_contain_text(re.compile(r"s3.*\d+ m?s", re.S))
    expect(how).to_contain_text("none (offline reasoning)")


def test_what_no_file_answers_is_shown_as_no_evidence(open_page: Callable[..., Page]) -> None:
    answer = ask(open_page(), "What is the recommended dose of warfarin for atrial fibrillation?")
    expect(answer.locator(".badge").first).to_have_text("No evidence found")
    expect(answer.locator("button.mark")).to_have_count(0)


def test_shift_enter_makes_a_line_and_a_reload_brings_the_conversation_back(open_page: Callable[..., Page]) -> None:
    page = open_page()
    field = page.get_by_label("Your question")
    field.fill("one")
    field.press("Shift+Enter")
    assert field.input_value() == "one\n"
    ask(page, DOCX_QUESTION)
    ask(page, PDF_QUESTION)
    assert re.search(r"#/ask/ses_\w+$", page.url)
    page.reload()
    expect(page.locator("article.answer")).to_have_count(2)
    expect(page.locator(".question h2").first).to_have_text(DOCX_QUESTION)
    page.locator("#new-conversation").click()
    expect(page.locator(".welcome")).to_be_visible()
    expect(page.locator("article.answer")).to_have_count(0)
    page.go_back()
    expect(page.locator("article.answer")).to_have_count(2)


def test_an_upload_by_the_chooser_is_followed_until_it_is_indexed_and_can_be_deleted(
    open_page: Callable[..., Page], site: Site, watch: Watch
) -> None:
    path = site.folder / "parking_rules.txt"
    path.write_text("Parking rules of the Zentara lot.\n\nThe parking fee of the Zentara lot is 7 dollars a day.\n")
    page = open_page("/#/documents")
    line = choose_file(page, path)
    expect(line.locator(".badge")).to_have_text("Indexed", timeout=PATIENCE_MS)
    row = row_of(page, path.name)
    expect(row).to_contain_text("chunk")
    watch.refusals_expected = True  # the list may ask for a document that has just gone
    row.get_by_role("button", name="Delete").click()
    page.get_by_role("dialog").get_by_role("button", name="Cancel").click()
    expect(row).to_be_visible()
    row.get_by_role("button", name="Delete").click()
    page.get_by_role("dialog").get_by_role("button", name="Delete").click()
    erasure = page.locator(".erasure")
    expect(erasure.locator(".badge")).to_have_text("Verified", timeout=PATIENCE_MS)
    expect(erasure.locator("tbody tr").filter(has_text="Search index")).to_contain_text("0")
    page.get_by_role("button", name="Close").click()
    expect(row).to_have_count(0)


def test_a_documents_history_leads_back_and_answers_over_a_replaced_version_are_stale(
    open_page: Callable[..., Page], site: Site
) -> None:
    path = site.folder / "ferry_times.txt"
    (site.folder / "ferry_times.txt.meta.json").write_text('{"effective_date": "2026-01-31", "supersedes": "old.txt"}')
    path.write_text("The ferry to Skarholm leaves at 06:40 from the north pier.\n")
    site.client.upload(path, {})
    page = open_page("/#/documents")
    row = row_of(page, path.name)
    expect(row).to_contain_text("Indexed", timeout=PATIENCE_MS)
    page.get_by_role("navigation").get_by_role("link", name="Ask").click()
    answer = ask(page, "When does the ferry to Skarholm leave?")
    expect(answer).to_contain_text("06:40")
    answer.locator("button.mark").first.click()
    expect(page.locator("#panel .facts")).to_contain_text("2026-01-31")
    expect(page.locator("#panel .facts")).to_contain_text("old.txt")
    page.keyboard.press("Escape")
    conversation = page.url
    path.write_text("The ferry to Skarholm leaves at 07:15 from the south pier.\n")
    site.client.upload(path, {})
    page.get_by_role("navigation").get_by_role("link", name="Documents").click()
    expect(row).to_contain_text("version 2", timeout=PATIENCE_MS)
    expect(row).to_contain_text("Indexed", timeout=PATIENCE_MS)
    row.get_by_role("button", name="Details").click()
    panel = page.locator("#panel")
    expect(panel.get_by_role("region", name="Answers")).to_contain_text("stale")
    panel.get_by_role("button", name="Restore version 1").click()
    page.get_by_role("dialog").get_by_role("button", name="Restore").click()
    versions = panel.get_by_role("region", name="Versions").locator("li")
    expect(versions.first).to_contain_text("Version 3")
    expect(versions.first).to_contain_text("Answers", timeout=PATIENCE_MS)
    expect(panel.get_by_role("region", name="Answers")).not_to_contain_text("stale")
    panel.get_by_role("button", name="Restore version 2").click()
    page.get_by_role("dialog").get_by_role("button", name="Restore").click()
    expect(versions.first).to_contain_text("Version 4")
    expect(versions.first).to_contain_text("Answers", timeout=PATIENCE_MS)
    page.goto(conversation)
    page.reload()
    stale = page.locator("article.answer").last
    expect(stale.locator(".badges")).to_contain_text("Stale")
    expect(stale.locator(".sources")).to_contain_text("stale")


def test_files_that_cannot_be_read_say_why_and_what_to_do(
    open_page: Callable[..., Page], site: Site, watch: Watch
) -> None:
    watch.refusals_expected = True
    cut = site.folder / "cut_in_the_middle.pdf"
    cut.write_bytes((SAMPLES / PDF).read_bytes()[:3000])
    wrong = site.folder / "not_a_picture.pdf"
    wrong.write_text("only words")
    page = open_page("/#/documents")
    refused = drop_file(page, wrong)
    expect(refused.locator(".badge")).to_have_text("Refused")
    expect(refused.locator(".problem")).to_contain_text("the content is plain text")
    failed = choose_file(page, cut)
    expect(failed.locator(".badge")).to_have_text("Failed", timeout=PATIENCE_MS)
    page.get_by_label("Status").select_option("failed")
    row = row_of(page, cut.name)
    expect(row.locator(".problem")).to_contain_text("damaged_file")
    expect(row.get_by_role("button", name="Retry")).to_be_visible()
    page.get_by_label("Status").select_option("indexed")
    expect(row).to_have_count(0)
    page.get_by_role("searchbox", name="Name").fill("referral")
    expect(page.locator("table.cards tbody tr")).to_have_count(1)


def test_tables_are_listed_with_columns_and_types_and_can_be_queried(open_page: Callable[..., Page]) -> None:
    page = open_page("/#/tables")
    card = page.locator(".table-card").filter(has=page.locator("summary").get_by_text("encounters", exact=True))
    card.locator("summary").click()
    expect(card.get_by_role("region", name="Columns of encounters")).to_contain_text("timestamp")
    expect(card.locator("summary")).to_contain_text("954 rows")
    card.get_by_role("button", name="Query").click()
    expect(card.get_by_role("region", name="Result").locator("tbody tr")).to_have_count(20)


def test_markup_and_script_links_in_a_document_stay_inert(open_page: Callable[..., Page], site: Site) -> None:
    sentence = (
        'The visiting fee of the Quellmar ward is 9 dollars <img src=x onerror="window.pwned=1"> as'
        " [the list](javascript:window.pwned=1) and ![this](https://elsewhere.example/x.png) say."
    )
    path = site.folder / "ward <img src=x onerror=window.pwned=1>.txt"
    path.write_text(f"Fees of the Quellmar ward.\n\n{sentence}\n")
    page = open_page("/#/documents")
    expect(choose_file(page, path).locator(".badge")).to_have_text("Indexed", timeout=PATIENCE_MS)
    page.get_by_role("navigation").get_by_role("link", name="Ask").click()
    answer = ask(page, "How much is the visiting fee of the Quellmar ward?")
    expect(answer.locator(".prose")).to_contain_text("[the list](javascript:window.pwned=1)")
    expect(answer.locator(".prose")).to_contain_text("<img src=x")
    answer.locator("button.mark").first.click()
    expect(page.locator("#panel .context mark")).to_contain_text("<img src=x")
    page.keyboard.press("Escape")
    answer.get_by_role("button", name="Lineage").click()
    page.locator(".chain").wait_for()
    assert page.locator("main img, #panel img").count() == 0
    assert page.locator("a[href^='javascript']").count() == 0
    assert page.evaluate("window.pwned") is None


def test_a_service_that_wants_a_key_gets_one_that_is_kept_for_the_tab(
    open_page: Callable[..., Page], site: Site, watch: Watch
) -> None:
    """The stack on loopback wants none, so the test stands in for that one refusal; the key is a real one."""
    watch.refusals_expected = True
    key = site.client.post("/keys", {"name": "local", "groups": [], "scopes": ["read", "write"]})["key"]

    def refuse_without_key(route: Route) -> None:
        if route.request.headers.get("authorization"):
            route.continue_()
        else:
            problem = {
                "code": "unauthenticated",
                "detail": "This service answers to API keys only.",
                "fix": "Send one.",
            }
            route.fulfill(status=401, json=problem)

    page = open_page("/docs")
    page.route(re.compile(re.escape(site.url) + r"/(documents|sessions|tables|ask|lineage)\b"), refuse_without_key)
    page.goto(site.url)
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("API key").fill(key)
    page.keyboard.press("Enter")
    expect(dialog).to_have_count(0)
    answer = ask(page, PDF_QUESTION)
    answer.locator("button.mark").first.click()
    page.locator("#panel img.page").wait_for()
    page.reload()
    page.locator("article.answer").wait_for()
    assert page.evaluate("localStorage.length") == 0
    page.get_by_role("button", name="Forget key").click()
    expect(page.get_by_role("dialog")).to_be_visible()


@pytest.mark.parametrize("path", ["/", "/#/documents", "/#/tables", "/docs"])
def test_nothing_is_wider_than_a_phone(open_page: Callable[..., Page], path: str) -> None:
    page = open_page(path, width=390, height=844)
    page.locator(".welcome, table.cards, .table-card, .operation").first.wait_for()
    if path == "/":
        ask(page, TABLE_QUESTION)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_the_api_page_lists_every_operation_of_the_openapi_document(open_page: Callable[..., Page], site: Site) -> None:
    page = open_page("/docs")
    page.locator(".operation").first.wait_for()
    paths = site.client.get("/openapi.json")["paths"]
    assert page.locator("[data-find]").count() == sum(len(methods) for methods in paths.values())
    ask_row = page.locator("details.operation").filter(has=page.get_by_text("/ask", exact=True))
    ask_row.locator("summary").click()
    expect(ask_row).to_contain_text("question required")
    ask_row.get_by_role("link", name="Answer").click()
    expect(page.locator("#schema-Answer")).to_contain_text("rewritten_question")
