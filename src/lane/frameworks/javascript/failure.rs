//! What was thrown, as a failure: the cause behind fast-check's own error, its counterexample, and the
//! frames of V8's stacks that lie in the tree. No I/O.

use serde::Deserialize;

use crate::lane::model::{Failure, Frame, Phase};

/// Frames of a failure; the deepest are kept.
const FRAMES: usize = 64;
/// Exceptions of a failure.
const KINDS: usize = 64;

/// Something that was thrown, and what is behind it.
#[derive(Debug, Clone, Default, Deserialize)]
pub(super) struct Thrown {
    pub name: String,
    #[serde(default)]
    pub message: String,
    #[serde(default)]
    pub stack: String,
    #[serde(default)]
    pub causes: Vec<Thrown>,
}

/// Folders whose names differ from run to run.
pub(super) struct Folders<'a> {
    pub tree: &'a str,
    pub run: &'a str,
}

/// What fast-check says of a property that failed.
#[derive(Debug, PartialEq, Eq)]
struct Falsified<'m> {
    seed: Option<i64>,
    example: Option<&'m str>,
    /// What the predicate threw, where it is told as text: versions before 4, and by request.
    got: Option<&'m str>,
}

/// The seed that fast-check says it ran with.
pub(super) fn seed(errors: &[Thrown]) -> Option<i64> {
    falsified(&errors.first()?.message)?.seed
}

pub(super) fn failure(errors: &[Thrown], phase: Phase, folders: &Folders<'_>) -> Failure {
    let none = Thrown::default();
    let first = errors.first().unwrap_or(&none);
    let property = falsified(&first.message);
    let got = property.as_ref().and_then(|p| p.got).map(of_text);
    let behind = match &property {
        Some(_) => first.causes.first().or(got.as_ref()),
        None => None,
    };
    let core = behind.unwrap_or(first);
    let mut exceptions = Vec::new();
    flatten(core, &mut exceptions);
    let mut frames = frames(&core.stack, folders.tree);
    if frames.is_empty() {
        frames = self::frames(&first.stack, folders.tree);
    }
    Failure {
        phase,
        exceptions,
        frames,
        message: clean(&core.message, folders),
        example: property
            .and_then(|property| property.example)
            .map(|example| clean(example, folders)),
    }
}

fn flatten(one: &Thrown, names: &mut Vec<String>) {
    if names.len() < KINDS {
        names.push(one.name.clone());
        for cause in &one.causes {
            flatten(cause, names);
        }
    }
}

fn falsified(message: &str) -> Option<Falsified<'_>> {
    let rest = message.strip_prefix("Property failed after ")?;
    let seed = rest.split_once("{ seed: ").and_then(|(_, rest)| {
        let end = rest.find(|c: char| !c.is_ascii_digit() && c != '-');
        rest[..end.unwrap_or(rest.len())].parse().ok()
    });
    let behind = rest.split_once("\nCounterexample: ");
    let example = behind.map(|(_, rest)| {
        // A value may itself hold that line: the last one is fast-check's.
        let end = rest.rfind("\nShrunk ").unwrap_or(rest.len());
        &rest[..end]
    });
    let got = behind.and_then(|(_, rest)| {
        let after = &rest[rest.rfind("\nShrunk ")?..];
        let (_, got) = after.split_once("\nGot ")?;
        Some(got.split_once("\n\nHint: ").map_or(got, |(got, _)| got))
    });
    Some(Falsified { seed, example, got })
}

/// `RangeError: too big` with a stack behind it, as one text.
fn of_text(text: &str) -> Thrown {
    let text = text.strip_prefix("error: ").unwrap_or(text);
    let end = ["\n    at ", "\n\nStack trace: "]
        .iter()
        .filter_map(|mark| text.find(mark))
        .min();
    let head = &text[..end.unwrap_or(text.len())];
    let is_name = |name: &str| {
        !name.is_empty()
            && name
                .chars()
                .all(|c| c.is_alphanumeric() || c == '_' || c == '$')
    };
    let (name, message) = match head.split_once(": ") {
        Some((name, message)) if is_name(name) => (name, message),
        _ => ("Error", head),
    };
    Thrown {
        name: name.to_owned(),
        message: message.to_owned(),
        stack: text.to_owned(),
        causes: Vec::new(),
    }
}

/// The frames of the tree's own files, the outermost call first.
fn frames(stack: &str, tree: &str) -> Vec<Frame> {
    let lines = stack
        .lines()
        .filter_map(|line| line.trim_start().strip_prefix("at "));
    let mut frames: Vec<Frame> = lines
        .filter_map(|line| frame(line, tree))
        .take(FRAMES)
        .collect();
    frames.reverse();
    frames
}

/// `total (file:///tree/src/sum.js:1:82)`, or the place alone.
fn frame(line: &str, tree: &str) -> Option<Frame> {
    let line = line.trim_end();
    let (function, place) = match line.strip_suffix(')').and_then(|l| l.rsplit_once(" (")) {
        Some((function, place)) => (function, place),
        None => ("<anonymous>", line.strip_prefix("async ").unwrap_or(line)),
    };
    let (rest, _column) = place.rsplit_once(':')?;
    let (path, number) = rest.rsplit_once(':')?;
    let path = match path.strip_prefix("file://") {
        Some(url) => decoded(url.split('?').next().unwrap_or(url))?,
        None => path.split('?').next().unwrap_or(path).to_owned(),
    };
    let file = path.strip_prefix(tree)?.strip_prefix('/')?;
    if file.split('/').any(|part| part == "node_modules") {
        return None;
    }
    let function = function.strip_prefix("async ").unwrap_or(function);
    Some(Frame {
        file: file.to_owned(),
        function: function.to_owned(),
        line: number.parse().ok()?,
    })
}

/// A path of a URL without its `%XX`.
fn decoded(url: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(url.len());
    let mut rest = url.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'%' => {
                let digits = [rest.next()?, rest.next()?];
                u8::from_str_radix(std::str::from_utf8(&digits).ok()?, 16).ok()?
            }
            byte => byte,
        });
    }
    String::from_utf8(bytes).ok()
}

fn clean(text: &str, folders: &Folders<'_>) -> String {
    text.replace(&format!("{}/", folders.tree), "")
        .replace(&format!("{}/tmp", folders.run), "/tmp/run")
        .replace(&format!("{}/home", folders.run), "/home/run")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const FOLDERS: Folders<'_> = Folders {
        tree: "/s/tree",
        run: "/s/runs/run-1",
    };

    fn thrown(name: &str, message: &str, stack: &str) -> Thrown {
        Thrown {
            name: name.to_owned(),
            message: message.to_owned(),
            stack: stack.to_owned(),
            causes: Vec::new(),
        }
    }

    const FALSIFIED: &str = "Property failed after 1 tests\n{ seed: -3, path: \"0:1\", endOnFailure: true }\nCounterexample: [[1000],\"a\nShrunk 1\"]\nShrunk 26 time(s)";
    const STACK: &str = "Error: x\n    at buildError (file:///s/tree/node_modules/fast-check/lib/fast-check.js:2497:16)\n    at total (/s/tree/src/a%20b.js:1:82)\n    at async new Sum (file:///s/tree/src/a%20b.js?v=1:7:2)\n    at async file:///s/tree/tests/p.test.js:5:73\n    at node:internal/x:1:2\n    at Promise.all (index 0)\n    at /s/treehouse/x.js:1:1";

    #[test]
    fn the_cause_behind_a_falsified_property_is_the_failure() {
        let mut outer = thrown("Error", FALSIFIED, "");
        outer.causes = vec![thrown(
            "RangeError",
            "too big in /s/tree/a and /s/runs/run-1/tmp/b",
            STACK,
        )];
        let errors = [outer];
        let failure = failure(&errors, Phase::Call, &FOLDERS);
        assert_eq!(failure.exceptions, ["RangeError"]);
        assert_eq!(failure.message, "too big in a and /tmp/run/b");
        assert_eq!(failure.example.as_deref(), Some("[[1000],\"a\nShrunk 1\"]"));
        assert_eq!(seed(&errors), Some(-3));
        let frames: Vec<_> = failure
            .frames
            .iter()
            .map(|f| (f.file.as_str(), f.function.as_str(), f.line))
            .collect();
        assert_eq!(
            frames,
            [
                ("tests/p.test.js", "<anonymous>", 5),
                ("src/a b.js", "new Sum", 7),
                ("src/a%20b.js", "total", 1),
            ]
        );
    }

    #[test]
    fn what_older_versions_print_is_read_from_the_text() {
        for got in [
            "\nGot RangeError: too big\n    at total (/s/tree/src/a.js:1:82)\n\nHint: Enable verbose mode",
            "\nGot error: too big\n\nStack trace: RangeError: too big\n    at total (/s/tree/src/a.js:1:82)",
        ] {
            let errors = [thrown("Error", &format!("{FALSIFIED}{got}"), STACK)];
            let failure = failure(&errors, Phase::Call, &FOLDERS);
            assert_eq!(failure.message, "too big", "{got}");
            assert_eq!(
                failure.example.as_deref(),
                Some("[[1000],\"a\nShrunk 1\"]"),
                "{got}"
            );
            assert_eq!(failure.frames.len(), 1, "{got}");
        }
    }

    #[test]
    fn other_failures_are_told_as_they_are() {
        let mut error = thrown("AssertionError", "1 !== 2", STACK);
        error.causes = vec![thrown("TypeError", "x", "")];
        let failure = failure(&[error], Phase::Setup, &FOLDERS);
        assert_eq!(failure.exceptions, ["AssertionError", "TypeError"]);
        assert_eq!(
            (failure.message.as_str(), failure.example),
            ("1 !== 2", None)
        );
        assert_eq!(failure.phase, Phase::Setup);
        assert_eq!(super::failure(&[], Phase::Call, &FOLDERS).exceptions, [""]);
        assert_eq!(seed(&[]), None);
    }

    proptest! {
        #[test]
        fn any_text_is_told(message in "(Property failed after )?(\\{ seed: )?\\PC{0,60}(\nCounterexample: )?\\PC{0,60}(\nShrunk )?\\PC{0,20}(\nGot )?\\PC{0,20}", stack in "(    at (x \\()?(file://)?/s/tree/\\PC{0,30}(:1:1)?\\)?\n){0,5}") {
            let errors = [thrown("E", &message, &stack)];
            let _ = (failure(&errors, Phase::Call, &FOLDERS), seed(&errors));
        }
    }
}
