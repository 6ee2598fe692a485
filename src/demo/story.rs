//! The demo's story: an agent's pull request that is refused, and the same one put right.

use std::io::Write;

use anyhow::{Context as _, Result, ensure};

use super::forge::{CheckRun, Comment, FileChange, NewPull, Required, Webhook};
use super::page::{page, wrap};
use super::project::{self, FIXTURE, PARSER, WRITER};
use super::stage::Stage;
use crate::model::Sha;
use crate::render::{TextStyle, visible};

const REPO: &str = "acme/csvlite";
const AGENT: &str = "acme-coder[bot]";
const BRANCH: &str = "acme-coder/ragged-rows";
const TITLE: &str = "Accept rows with missing fields";

/// Plays the story on `stage` and tells it to `out`. An error when anything came out otherwise than it
/// must.
pub async fn play(stage: &Stage, out: &mut (dyn Write + Send), style: TextStyle) -> Result<()> {
    let mut told = Told { out, style };
    let number = opening(stage, &mut told)?;
    let refused = first_try(stage, &mut told, number).await?;
    second_try(stage, &mut told, number, &refused).await?;
    told.say(
        "Both came out as they must. The forge, the server and their files were on this machine only, and \
         end with it. Try it on a repository of your own: `frostline check`.",
    )
}

fn opening(stage: &Stage, told: &mut Told<'_>) -> Result<u64> {
    stage
        .forge
        .create_repo(REPO, project::FILES.iter().copied())?;
    let required = Required {
        branch: "main".to_owned(),
        context: "frostline".to_owned(),
        app: Some(stage.forge.app_id()),
        by_protection: false,
    };
    stage.forge.require(REPO, vec![required])?;
    told.heading("1. A repository with a contract")?;
    told.say(&format!(
        "{REPO} is a small Python project. Its people keep, on the branch `main`:"
    ))?;
    told.item("test/contract/fixtures.lock.json: two fixtures, locked by digest")?;
    told.item(&format!(
        "test/contract/hunk-map.json: {PARSER} may change while test_ragged_rows_are_refused guards it, \
         {WRITER} while test_what_is_written_is_read_back does"
    ))?;
    told.item(
        "test/contract/flake-freeze.json: test_ragged_rows_are_refused is frozen as a flake; its owner is @ann",
    )?;
    told.gap()?;

    let changes = [
        FileChange::write(PARSER, project::padding_parser()),
        FileChange::write(FIXTURE, project::ragged_fixture()),
    ];
    stage.forge.push(REPO, BRANCH, changes, AGENT)?;
    let mut new = NewPull::new(BRANCH, AGENT, TITLE);
    new.body = Some("Some shops leave out trailing fields. The parser pads such rows now.");
    stage.forge.open_pull(REPO, new)
}

/// The agent changes the parser and rewrites the fixture that shows it wrong. Gives the head.
async fn first_try(stage: &Stage, told: &mut Told<'_>, number: u64) -> Result<Sha> {
    told.heading("2. An agent opens a pull request")?;
    told.say(&format!("#{number} \"{TITLE}\" by {AGENT}:"))?;
    told.item(&format!("{PARSER}: pads ragged rows where it refused them"))?;
    told.item(&format!("{FIXTURE}: rewritten, so that it has such a row"))?;
    told.gap()?;
    let hook = stage.forge.pull_webhook(REPO, number, "opened")?;
    told.delivering(&hook)?;
    stage.deliver(&hook).await?;

    told.heading("3. What the maintainer sees")?;
    let head = stage.forge.head(REPO, number)?;
    let run = the_run(stage, &head)?;
    told.check_run(&run)?;
    let comment = the_comment(stage, number)?;
    told.comment(&comment)?;
    ensure!(
        run.conclusion.as_deref() == Some("failure"),
        "the check-run must end as failure, and ended as {:?}",
        run.conclusion
    );
    ensure!(
        run.annotations.iter().any(|note| note["path"] == PARSER),
        "no annotation is on {PARSER}"
    );
    ensure!(
        comment.body.contains(PARSER) && comment.body.contains("test_ragged_rows_are_refused"),
        "the comment must name the path and the frozen property"
    );
    Ok(head)
}

/// The agent takes the fixture back and moves its change to where a live property guards it.
async fn second_try(stage: &Stage, told: &mut Told<'_>, number: u64, refused: &Sha) -> Result<()> {
    told.heading("4. The agent puts it right")?;
    told.say("It reads the check-run, and pushes to the same pull request:")?;
    told.item(&format!("{FIXTURE}: as it was, and as it is locked"))?;
    told.item(&format!("{PARSER}: as it was"))?;
    told.item(&format!(
        "{WRITER}: makes rows whole before they are written, where a live property guards the change"
    ))?;
    told.gap()?;
    let changes = [
        FileChange::write(PARSER, project::file(PARSER)),
        FileChange::write(FIXTURE, project::file(FIXTURE)),
        FileChange::write(WRITER, project::padding_writer()),
    ];
    let head = stage.forge.push(REPO, BRANCH, changes, AGENT)?;
    let hook = stage.forge.pull_webhook(REPO, number, "synchronize")?;
    told.delivering(&hook)?;
    stage.deliver(&hook).await?;

    told.heading("5. What the maintainer sees now")?;
    let run = the_run(stage, &head)?;
    told.check_run(&run)?;
    let comment = the_comment(stage, number)?;
    told.comment(&comment)?;
    ensure!(
        run.conclusion.as_deref() == Some("success"),
        "the check-run must end as success, and ended as {:?}",
        run.conclusion
    );
    ensure!(
        comment.minimized.as_deref() == Some("RESOLVED"),
        "the comment must be folded away as resolved"
    );
    let problems = stage.forge.problems();
    ensure!(
        problems.is_empty(),
        "the forge was asked what it does not know: {problems:?}"
    );
    let before = the_run(stage, refused)?;
    ensure!(
        before.conclusion.as_deref() == Some("failure"),
        "the refused commit must stay refused"
    );
    Ok(())
}

/// The one check-run of a commit, which must have ended.
fn the_run(stage: &Stage, head: &Sha) -> Result<CheckRun> {
    let mut runs = stage.forge.check_runs(REPO, head);
    ensure!(
        runs.len() == 1,
        "there must be one check-run, and there are {}",
        runs.len()
    );
    let run = runs.pop().context("no check-run")?;
    ensure!(
        run.status == "completed",
        "the check-run is still {}",
        run.status
    );
    Ok(run)
}

/// The one comment of a pull request.
fn the_comment(stage: &Stage, number: u64) -> Result<Comment> {
    let mut comments = stage.forge.comments(REPO, number);
    ensure!(
        comments.len() == 1,
        "there must be one comment, and there are {}",
        comments.len()
    );
    comments.pop().context("no comment")
}

/// Tells the story in plain text.
struct Told<'a> {
    out: &'a mut (dyn Write + Send),
    style: TextStyle,
}

impl Told<'_> {
    fn heading(&mut self, text: &str) -> Result<()> {
        let bold = anstyle::Style::new().bold();
        if self.style.colour {
            writeln!(self.out, "{bold}{text}{bold:#}\n")?;
        } else {
            writeln!(self.out, "{text}\n{}\n", "=".repeat(text.len()))?;
        }
        Ok(())
    }

    fn say(&mut self, text: &str) -> Result<()> {
        writeln!(self.out, "{}", wrap(text, self.style.width, "", ""))?;
        Ok(())
    }

    fn item(&mut self, text: &str) -> Result<()> {
        write!(self.out, "{}", wrap(text, self.style.width, "  - ", "    "))?;
        Ok(())
    }

    fn gap(&mut self) -> Result<()> {
        writeln!(self.out)?;
        Ok(())
    }

    fn delivering(&mut self, hook: &Webhook) -> Result<()> {
        self.say(&format!(
            "The forge delivers the signed webhook ({}, {} bytes) to Frostline.",
            hook.event,
            hook.body.len()
        ))
    }

    fn check_run(&mut self, run: &CheckRun) -> Result<()> {
        let mark = match run.conclusion.as_deref() {
            Some("success") => "✓",
            Some("failure") => "✗",
            _ => "•",
        };
        let title = visible(run.title.as_deref().unwrap_or_default());
        self.boxed(&format!("{mark} {}: {title}", run.name), |style| {
            page(run.summary.as_deref().unwrap_or_default(), style)
        })?;
        if run.annotations.is_empty() {
            return Ok(());
        }
        self.say("On the changed lines:")?;
        for note in &run.annotations {
            let text = |key: &str| note[key].as_str().unwrap_or_default();
            self.item(&format!("{}:{}", visible(text("path")), note["start_line"]))?;
            for line in text("message").lines().filter(|line| !line.is_empty()) {
                let line = wrap(&visible(line), self.style.width, "    ", "    ");
                write!(self.out, "{line}")?;
            }
        }
        self.gap()
    }

    fn comment(&mut self, comment: &Comment) -> Result<()> {
        let folded = match &comment.minimized {
            Some(why) => format!(", folded away as {}", why.to_lowercase()),
            None => String::new(),
        };
        let heading = format!("Comment by {}{folded}", comment.author);
        self.boxed(&heading, |style| page(&comment.body, style))
    }

    /// A page of the forge, set apart by a bar at its left.
    fn boxed(&mut self, heading: &str, body: impl FnOnce(TextStyle) -> String) -> Result<()> {
        let inner = TextStyle {
            width: self.style.width.saturating_sub(2).max(20),
            ..self.style
        };
        writeln!(self.out, "┌ {heading}\n│")?;
        for line in body(inner).lines() {
            writeln!(self.out, "{}", format!("│ {line}").trim_end())?;
        }
        writeln!(self.out, "└\n")?;
        Ok(())
    }
}
