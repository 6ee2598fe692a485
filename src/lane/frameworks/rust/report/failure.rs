//! How a test failed, as the runtime and the library that generated its values wrote it.

use std::path::Path;

use super::super::super::text::plain;
use super::super::LARGEST_SOURCE;
use super::Asked;
use crate::lane::model::{Failure, Frame, Phase};

/// Bytes of a message that are kept.
const LONGEST: usize = 64 * 1024;

/// `thread 'x' (7) panicked at src/a.rs:1:2:` and the lines after it.
struct Panic<'t> {
    thread: &'t str,
    file: &'t str,
    line: u32,
    message: String,
}

fn panics(text: &str) -> Vec<Panic<'_>> {
    let mut all: Vec<Panic<'_>> = Vec::new();
    let mut inside = false;
    for line in text.lines() {
        if let Some((thread, file, number)) = panic_head(line) {
            all.push(Panic {
                thread,
                file,
                line: number,
                message: String::new(),
            });
            inside = true;
        } else if ends_message(line) {
            inside = false;
        } else if let Some(panic) = all.last_mut().filter(|_| inside)
            && panic.message.len() < LONGEST
        {
            panic.message.push_str(line);
            panic.message.push('\n');
        }
    }
    all
}

fn panic_head(line: &str) -> Option<(&str, &str, u32)> {
    let (head, place) = line.split_once(" panicked at ")?;
    let (_, thread) = head.rsplit_once("thread '")?;
    let thread = thread.rsplit_once('\'').map_or(thread, |(name, _)| name);
    let mut parts = place.strip_suffix(':')?.rsplitn(3, ':');
    let (_, number, file) = (parts.next()?, parts.next()?, parts.next()?);
    Some((thread, file, number.parse().ok()?))
}

/// What the runtime and the harness write after a message.
fn ends_message(line: &str) -> bool {
    let starts = [
        "note: run with `RUST_BACKTRACE",
        "stack backtrace:",
        "proptest: ",
        "test result: ",
        "failures:",
    ];
    starts.iter().any(|start| line.starts_with(start))
        || line.trim_start().starts_with("successes: ")
        || (line.contains("test ") && (line.ends_with(" ... FAILED") || line.ends_with(" ... ok")))
}

/// The failure of a test that its harness calls failed.
pub(super) fn of(asked: &Asked<'_>, text: &str) -> Failure {
    let mut panics = panics(text);
    // With one thread for all the test runs on the first.
    let own = |panic: &Panic<'_>| asked.is(panic.thread) || panic.thread == "main";
    let last = panics.iter().rposition(own);
    let mut failure = Failure {
        phase: Phase::Call,
        exceptions: Vec::new(),
        frames: vec![of_test(asked)],
        message: String::new(),
        example: None,
    };
    let should_panic = text.lines().find(|line| {
        line.starts_with("note: ")
            && (line.contains("did not panic") || line.contains("did not contain expected"))
    });
    if let Some(note) = should_panic {
        failure.exceptions.push("should_panic".to_owned());
        failure.message = note.trim_start_matches("note: ").to_owned();
        return failure;
    }
    let Some(last) = last else {
        let error = text.lines().rev().find(|line| line.starts_with("Error: "));
        failure.exceptions.push("Error".to_owned());
        failure.message = error
            .map_or("it failed without a word", |line| &line["Error: ".len()..])
            .to_owned();
        return failure;
    };
    let final_panic = panics.swap_remove(last);
    panics.truncate(last);
    let before = panics.iter().rfind(|panic| own(panic));
    told(asked, &mut failure, &final_panic, before);
    failure
}

/// Takes a message apart by what wrote it. `before` is the panic of the smallest input, where a library
/// caught it and panicked with its own words.
fn told(asked: &Asked<'_>, failure: &mut Failure, panic: &Panic<'_>, before: Option<&Panic<'_>>) {
    let message = panic.message.trim_end();
    let mut place = Some((panic.file.to_owned(), panic.line));
    if let Some(rest) = message.strip_prefix("Test failed: ") {
        let (why, example) = rest
            .split_once("\nminimal failing input: ")
            .unwrap_or((rest, ""));
        failure.exceptions.push("TestError::Fail".to_owned());
        if let Some(before) = before {
            failure.exceptions.push("panic".to_owned());
            place = Some((before.file.to_owned(), before.line));
        } else {
            // Where proptest itself panics is its macro, which says nothing.
            place = asserted_at(why);
        }
        failure.message = why.trim_end_matches('.').to_owned();
        failure.example = Some(example.trim().to_owned()).filter(|example| !example.is_empty());
    } else if let Some(why) = message.strip_prefix("Test aborted: ") {
        failure.exceptions.push("TestError::Abort".to_owned());
        place = None;
        failure.message = why.to_owned();
    } else if let Some(rest) = message.strip_prefix("[quickcheck] TEST FAILED") {
        failure.exceptions.push("panic".to_owned());
        place = before
            .map(|before| (before.file.to_owned(), before.line))
            .or(place);
        let rest = rest.trim_start_matches([' ', '(', '.']);
        let arguments = rest.split_once("Arguments: ").map(|(_, rest)| rest);
        let (example, why) = arguments.map_or((rest, ""), |rest| {
            rest.split_once("\nError: ").unwrap_or((rest, ""))
        });
        failure.message = match why {
            "" => "[quickcheck] TEST FAILED".to_owned(),
            why => why.trim_matches('"').to_owned(),
        };
        failure.example = Some(example.trim().to_owned()).filter(|_| arguments.is_some());
    } else {
        failure.exceptions.push("panic".to_owned());
        failure.message = message.to_owned();
    }
    let frame = place.and_then(|(file, line)| frame(asked, &file, line));
    failure.frames.extend(frame);
}

/// `… at tests/a.rs:6.`, which `prop_assert!` adds.
fn asserted_at(message: &str) -> Option<(String, u32)> {
    let (_, place) = message.trim_end_matches('.').rsplit_once(" at ")?;
    let (file, line) = place.rsplit_once(':')?;
    Some((file.to_owned(), line.parse().ok()?))
}

fn of_test(asked: &Asked<'_>) -> Frame {
    let function = asked.path.rsplit("::").next().unwrap_or(&asked.path);
    Frame {
        file: asked.node.path().to_owned(),
        function: function.to_owned(),
        line: 0,
    }
}

/// The place of a panic, where it is in the repository: a path from the workspace's root.
fn frame(asked: &Asked<'_>, file: &str, line: u32) -> Option<Frame> {
    let inside = Path::new(file).is_relative() && !file.split('/').any(|part| part == "..");
    let path = asked.root.join(file);
    let text = inside.then(|| plain(&asked.tree.join(&path), LARGEST_SOURCE));
    let text = text?.ok()??;
    let own = of_test(asked);
    let path = path.to_string_lossy().into_owned();
    let function = function_at(&text, line)?;
    Some(Frame {
        file: path,
        function,
        line,
    })
    .filter(|frame| (&frame.file, &frame.function) != (&own.file, &own.function))
}

/// The last function that begins at or above a line.
pub(super) fn function_at(text: &str, line: u32) -> Option<String> {
    let lines: Vec<&str> = text.lines().take(usize::try_from(line).ok()?).collect();
    lines.into_iter().rev().find_map(|line| {
        let at = line.find("fn ")?;
        let is_word = line[..at]
            .chars()
            .next_back()
            .is_none_or(|c| !c.is_alphanumeric() && c != '_');
        let name: String = line[at + 3..]
            .chars()
            .take_while(|c| c.is_alphanumeric() || *c == '_')
            .collect();
        (is_word && !name.is_empty() && !line.trim_start().starts_with("//")).then_some(name)
    })
}
