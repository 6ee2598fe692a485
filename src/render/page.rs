//! Pages for a browser (interfaces section 3): the decision on one pull request, and a repository's newest
//! decisions. PURE.
//!
//! A page is the Markdown of the check-run in HTML, without the forge's limit, so that both say the same
//! and text from a repository is made harmless in one place. It has no script, and asks for nothing else.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use pulldown_cmark::{Options, Parser, html};
use sha2::{Digest as _, Sha256};

use super::document::{Document, Frame};
use super::{headline, summary};
use crate::model::{Decision, PrNumber, RepoName};

/// Longest Markdown of a page, bytes.
const LONGEST: usize = 4 << 20;

const STYLE: &str = "\
:root{color-scheme:light dark;--line:#8886;--faint:#8882}\
body{margin:0 auto;max-width:72rem;padding:1rem;font:16px/1.5 system-ui,sans-serif;overflow-wrap:break-word}\
h1{font-size:1.4rem;line-height:1.25}h3{font-size:1.1rem;margin-top:2rem}\
.table{overflow-x:auto}table{border-collapse:collapse;min-width:100%}\
th,td{border:1px solid var(--line);padding:.3rem .5rem;text-align:left;vertical-align:top}\
th{background:var(--faint)}code{background:var(--faint);border-radius:.2rem;padding:.1em .25em;font-size:.9em}\
summary{cursor:pointer;margin:.5rem 0}footer{margin-top:3rem;border-top:1px solid var(--line);font-size:.9rem}";

/// What a page may load, for the header Content-Security-Policy: its own style and nothing else.
pub fn content_security_policy() -> String {
    let style = STANDARD.encode(Sha256::digest(STYLE.as_bytes()));
    format!(
        "default-src 'none'; style-src 'sha256-{style}'; base-uri 'none'; form-action 'none'; \
         frame-ancestors 'none'"
    )
}

/// The decision on the pull request `pull`; it was made for `judged`, which is another one where both have
/// the same head. `published` is the time of its publication as text.
pub fn decision_page(
    repo: &RepoName,
    (pull, judged): (PrNumber, PrNumber),
    decision: &Decision,
    published: &str,
) -> String {
    let title = headline(decision);
    let body = summary::summary(decision, LONGEST);
    let name = format!("{repo} #{pull}");
    let stats = &decision.stats;
    let speaks = match judged == pull {
        true => String::new(),
        false => format!("Judged for pull request {judged}, which has the same head. "),
    };
    let foot = format!(
        "{speaks}Published {published}. {} fixtures, {} of them hashed; {} requests to the forge; {} ms.",
        stats.fixtures, stats.fixtures_hashed, stats.forge_requests, stats.elapsed_ms
    );
    page(&name, &title, &body, &foot)
}

/// One line of a repository's dashboard.
pub struct Line {
    pub pull: PrNumber,
    /// Begin of the head's id.
    pub head: String,
    /// The verdict in one line; holds nothing that comes from a repository.
    pub headline: String,
    pub published: String,
}

/// A repository's newest decisions.
pub fn dashboard_page(repo: &RepoName, lines: &[Line]) -> String {
    let mut document = Document::new(LONGEST);
    if lines.is_empty() {
        document.paragraph("No pull request of this repository has been judged yet.");
    }
    let frame = Frame {
        head: "| pull request | head | decision | published |\n| --- | --- | --- | --- |\n",
        tail: "",
        nouns: ("pull request", "pull requests"),
    };
    let rows = lines.iter().map(|line| {
        let Line {
            pull,
            head,
            headline,
            published,
        } = line;
        format!("| [#{pull}](/{repo}/pull/{pull}) | `{head}` | {headline} | {published} |\n")
    });
    document.rows(&frame, 90, rows);
    let body = document.finish();
    page(
        repo.as_str(),
        "Newest decisions",
        &body,
        "The newest first.",
    )
}

/// `name`, `title` and `foot` hold no text that needs escaping.
fn page(name: &str, title: &str, markdown: &str, foot: &str) -> String {
    let mut body = String::with_capacity(markdown.len() * 2);
    html::push_html(&mut body, Parser::new_ext(markdown, Options::ENABLE_TABLES));
    let body = body
        .replace("<table>", "<div class=\"table\"><table>")
        .replace("</table>", "</table></div>");
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"robots\" content=\"noindex\">\n<title>{title} · {name}</title>\n\
         <style>{STYLE}</style>\n</head>\n<body>\n<header>{name}</header>\n<main>\n<h1>{title}</h1>\n\
         {body}</main>\n<footer><p>{foot}</p></footer>\n</body>\n</html>\n"
    )
}
