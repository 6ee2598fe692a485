//! What the App's own pull requests and the answers about them say. PURE.

use super::document::{Document, Frame};
use super::escape::{Place, code, prose, visible};
use super::words::count;
use crate::model::{Person, PrNumber, Sha};
use crate::propose::{Content, DigestChange, Proposal, ProposedFile};

/// Limit of the forge on a pull request's text and on a comment, in characters; counted in bytes.
const MAX_BODY: usize = 65_000;
/// Largest patch that an answer shows; bytes. Five commands are answered by one comment.
const MAX_PATCH: usize = 12_000;

/// At whose command, and where, a proposal is made.
#[derive(Debug, Clone, Copy)]
pub struct Asked<'a> {
    pub pull: PrNumber,
    /// As it was written.
    pub command: &'a str,
    /// Everybody at whose command; the last one asked now.
    pub people: &'a [Person],
    /// Where the forge's pages are, for addresses of people that no mail reaches: `github.com`.
    pub host: &'a str,
}

/// The commit's message, with everybody who asked as a co-author.
pub fn proposal_message(proposal: &Proposal, asked: Asked<'_>) -> String {
    let mut message = format!(
        "{}\n\nAsked for on pull request {}.\n\n",
        proposal.title, asked.pull
    );
    for person in asked.people {
        message.push_str(&format!(
            "Co-authored-by: {} <{}+{}@users.noreply.{}>\n",
            person.login, person.id, person.login, asked.host
        ));
    }
    message
}

/// The pull request's text.
pub fn proposal_body(proposal: &Proposal, asked: Asked<'_>) -> String {
    let people: Vec<String> = asked
        .people
        .iter()
        .map(|person| code(&person.login, Place::Line))
        .collect();
    let mut text = Document::new(MAX_BODY);
    text.paragraph(&format!(
        "{} asked for this on #{} with {}. It holds these files and nothing else of that pull request; \
         somebody else with write access has to approve it.",
        people.join(" and "),
        asked.pull,
        code(asked.command, Place::Line)
    ));
    let file = |file: &ProposedFile| {
        format!(
            "- {} {}\n",
            what(&file.content),
            code(&file.path, Place::Line)
        )
    };
    let files = Frame {
        head: "",
        tail: "",
        nouns: ("file", "files"),
    };
    text.rows(&files, 50, proposal.files.iter().map(file));
    let digests = Frame {
        head: "| fixture | digest before | digest after |\n| --- | --- | --- |\n",
        tail: "",
        nouns: ("fixture", "fixtures"),
    };
    text.rows(&digests, 100, proposal.digests.iter().map(row));
    text.paragraph(remark(proposal).trim_start());
    text.finish().trim_end().to_owned()
}

fn what(content: &Content) -> &'static str {
    match content {
        Content::Text { old: Some(_), .. } => "changes",
        Content::Text { old: None, .. } => "adds",
        Content::Object(..) => "takes over",
        Content::Removed => "removes",
    }
}

fn row(change: &DigestChange) -> String {
    let digest = |digest: &Option<_>| match digest {
        Some(digest) => code(&format!("{digest}"), Place::Cell),
        None => "none".to_owned(),
    };
    format!(
        "| {} | {} | {} |\n",
        code(&change.path, Place::Cell),
        digest(&change.old),
        digest(&change.new)
    )
}

/// The answer where there is a pull request.
pub fn proposal_made(proposal: &Proposal, number: PrNumber, is_new: bool) -> String {
    let made = match is_new {
        true => "Somebody else with write access has to approve it",
        false => "It is up to date",
    };
    let remark = remark(proposal);
    format!("#{number} proposes it. {made}.{remark}\n")
}

/// A sentence behind another one, or nothing.
fn remark(proposal: &Proposal) -> String {
    let remark = proposal.remark.as_deref();
    remark.map_or_else(String::new, |text| {
        format!(" {}.", prose(text, Place::Line))
    })
}

/// The answer where the App may not push: what to do by hand.
pub fn proposal_by_hand(proposal: &Proposal, head: &Sha) -> String {
    let taken = proposal.files.iter();
    let taken = taken.filter(|file| !matches!(file.content, Content::Text { .. }));
    let from_head = match taken.count() {
        0 => String::new(),
        n => format!(
            " On a branch of the base branch, take {} of it as {} has them (`git checkout COMMIT -- PATH`, or \
             `git rm`), and then:",
            count(n, "changed fixture", "changed fixtures"),
            code(head.as_str(), Place::Line)
        ),
    };
    let patch: String = proposal.files.iter().filter_map(diff).collect();
    let shows = |line: &str| visible(&line.replace('\t', "")) == line.replace('\t', "");
    let then = if patch.len() <= MAX_PATCH && patch.lines().all(shows) {
        let fence = fence(&patch);
        format!(" Apply this patch with `git apply`:\n\n{fence}diff\n{patch}{fence}\n")
    } else {
        " The patch cannot be shown here; make the change by hand (for the lock, `frostline lock write`).\n"
            .to_owned()
    };
    let remark = remark(proposal);
    format!(
        "This installation may not write contents, so that this App cannot open a pull request for it.{remark}{from_head}{then}"
    )
}

/// More backticks than stand together in the text.
fn fence(text: &str) -> String {
    let mut longest = 0;
    let mut run = 0;
    for c in text.chars() {
        run = if c == '`' { run + 1 } else { 0 };
        longest = longest.max(run);
    }
    "`".repeat(longest.max(2) + 1)
}

/// A file's change, as `git apply` takes it.
fn diff(file: &ProposedFile) -> Option<String> {
    let Content::Text { old, new } = &file.content else {
        return None;
    };
    let path = &file.path;
    let (header, from) = match old {
        Some(_) => (
            format!("diff --git a/{path} b/{path}\n"),
            format!("a/{path}"),
        ),
        None => (
            format!("diff --git a/{path} b/{path}\nnew file mode 100644\n"),
            "/dev/null".to_owned(),
        ),
    };
    let old = old.as_deref().unwrap_or_default();
    let diff = similar::TextDiff::from_lines(old, new);
    let hunks = diff
        .unified_diff()
        .context_radius(3)
        .header(&from, &format!("b/{path}"))
        .to_string();
    Some(header + &hunks)
}
