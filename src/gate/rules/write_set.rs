//! What may stand together in one write-set, class by class. PURE.

use std::collections::{BTreeMap, BTreeSet};

use crate::gate::case::{Case, Touched};
use crate::gate::classes::{is_code, is_prose};
use crate::gate::findings::{Draft, Findings};
use crate::gate::scopes::GlobIndex;
use crate::model::{Class, Effect, EntryKind, Only, Rule};

pub fn check(case: &Case<'_>, findings: &mut Findings<'_>) {
    if case.is_audit() {
        outside_every_class(case, findings);
        return;
    }
    for touched in &case.touched {
        by_class(case, touched, findings);
        functions_removed(case, touched, findings);
        places(touched, findings);
    }
    self_rewriting(case, findings);
    seeds(case, findings);
}

/// `unclassified-code` of an audit: nobody brings it, so it only says where the gate does not look.
fn outside_every_class(case: &Case<'_>, findings: &mut Findings<'_>) {
    for touched in case.of(Class::Other) {
        let message = "code that is of no guarded class: patches of it pass unseen";
        let fix = "map it in the hunk map, add its place to paths.production in the configuration, or list it under paths.ignored";
        findings.add(
            Draft::new(Rule::UnclassifiedCode, message, fix)
                .at(touched.path())
                .effect(Effect::Notice),
        );
    }
}

fn by_class(case: &Case<'_>, touched: &Touched<'_>, findings: &mut Findings<'_>) {
    let with_production = case.has_production;
    let mut add = |rule, message: &str, fix: &str| {
        findings.add(Draft::new(rule, message, fix).at(touched.path()));
    };
    match touched.class {
        Class::Fixture | Class::Property if with_production => add(
            Rule::TestsWithProduction,
            &format!(
                "a {} and production code change in one patch",
                touched.class
            ),
            match touched.class {
                Class::Fixture => {
                    "move it, with its lock, to a pull request of its own, to be reviewed first"
                }
                _ => "move it to a pull request of its own, to be reviewed first",
            },
        ),
        Class::Fixture => add(
            Rule::FixtureChanged,
            "a fixture changes",
            "a maintainer reads the new bytes and approves",
        ),
        Class::Property => add(
            Rule::PropertyChanged,
            "a property changes",
            "a maintainer checks that the invariant is no weaker, and approves",
        ),
        Class::Harness if case.is_agent() => add(
            Rule::HarnessChanged,
            "an agent changes what decides how or whether tests run",
            "a maintainer reads the change and approves, or take it out of the patch",
        ),
        Class::Golden if case.is_agent() => add(
            Rule::GoldenChanged,
            "an agent changes an expected output",
            "a maintainer reads the new output and approves, or take it out of the patch",
        ),
        Class::Test => test(case, touched, findings),
        Class::Production if case.edits_property_of(touched.path()) => add(
            Rule::TestsWithProduction,
            "a property that the map lists and the production code beside it change in one patch",
            "move the property's change to a pull request of its own, to be reviewed first",
        ),
        Class::Other | Class::Note if is_unclassified_code(case, touched) => add(
            Rule::UnclassifiedCode,
            "an agent changes code that is of no guarded class",
            "map it in the hunk map, or list it under paths.ignored in the configuration",
        ),
        _ => {}
    }
}

fn test(case: &Case<'_>, touched: &Touched<'_>, findings: &mut Findings<'_>) {
    // A production file that changes in its test items only is named like no test, and is no support.
    let named_like_a_test = case.classes.is_named_like_a_test(touched.path())
        || touched.change.only == Some(Only::TestItems);
    // Other files of the crate may be tested by what a file holds for tests.
    let needed = touched.change.only == Some(Only::TestSupport)
        || case
            .sources()
            .is_some_and(|sources| sources.needed.contains(touched.path()));
    let is_support = needed || !(named_like_a_test || is_prose(touched.path()));
    if case.is_agent() && !needed {
        let message = "an agent changes a test that is no property";
        let fix = "nothing to do; a change here proves nothing about the patch";
        findings.add(Draft::new(Rule::TestChanged, message, fix).at(touched.path()));
    }
    if case.has_production && named_like_a_test && touched.change.merged.is_none() {
        let message = "a test file goes away together with a production change";
        let fix = "a maintainer confirms that nothing it checked is lost, or restore it";
        findings.add(Draft::new(Rule::TestsRemoved, message, fix).at(touched.path()));
    } else if case.has_production && is_support {
        let message = "test support changes together with production code, and can change what a property asserts";
        let fix = "move it to a pull request of its own, or a maintainer approves";
        findings.add(Draft::new(Rule::SupportChanged, message, fix).at(touched.path()));
    } else if needed {
        let message = "test support that listed properties need, or may need, changes: it can change what they assert";
        let fix = "a maintainer checks that no property becomes weaker, and approves";
        findings.add(Draft::new(Rule::SupportChanged, message, fix).at(touched.path()));
    }
}

/// `tests-removed`, by the functions that are gone from a file that is still there.
fn functions_removed(case: &Case<'_>, touched: &Touched<'_>, findings: &mut Findings<'_>) {
    let Some(source) = case
        .sources()
        .and_then(|sources| sources.files.get(touched.path()))
    else {
        return;
    };
    let may_hold_tests = matches!(touched.class, Class::Test | Class::Production);
    if !may_hold_tests || !case.has_production || touched.change.merged.is_none() {
        return;
    }
    let message = if source.unread {
        "its source could not be read whole, so tests may have gone away".to_owned()
    } else if source.removed.is_empty() {
        return;
    } else {
        format!(
            "tests go away together with a production change: {}",
            listed(&source.removed)
        )
    };
    let fix = "a maintainer confirms that nothing they checked is lost, or restore them";
    findings.add(Draft::new(Rule::TestsRemoved, message, fix).at(touched.path()));
}

/// At most so many names are told.
const MOST_NAMES: usize = 10;

fn listed(names: &[String]) -> String {
    let told = names[..names.len().min(MOST_NAMES)].join(", ");
    match names.len().saturating_sub(MOST_NAMES) {
        0 => told,
        more => format!("{told} and {more} more"),
    }
}

/// `seed-in-source`: a generator that is given the same seed each time tries the same inputs each time.
fn seeds(case: &Case<'_>, findings: &mut Findings<'_>) {
    for (path, source) in case
        .sources()
        .into_iter()
        .flat_map(|sources| &sources.files)
    {
        for line in &source.seeds {
            let message =
                "a seed is fixed in the test's source, so it tries the same inputs each time";
            let fix = "take the seed out of the source; seeds to replay belong in the seed corpus";
            let draft = Draft::new(Rule::SeedInSource, message, fix);
            findings.add(draft.at(path).line(Some(*line)));
        }
    }
}

fn is_unclassified_code(case: &Case<'_>, touched: &Touched<'_>) -> bool {
    case.is_agent()
        && (is_code(touched.path()) || touched.change.shebang)
        && !case.classes.is_ignored(touched.path())
}

/// `path-collision` and `link-in-place`.
fn places(touched: &Touched<'_>, findings: &mut Findings<'_>) {
    let Some(merged) = &touched.change.merged else {
        return;
    };
    if let Some(other) = &touched.change.collides_with {
        let message =
            format!("another spelling of {other}: some file systems take both for one path");
        let fix = "give it another name";
        findings.add(Draft::new(Rule::PathCollision, message, fix).at(touched.path()));
    }
    let guarded = matches!(
        touched.class,
        Class::Production | Class::Property | Class::Harness | Class::Golden
    );
    if guarded && !merged.kind.is_regular() {
        let what = if merged.kind == EntryKind::Symlink {
            "a symlink"
        } else {
            "a submodule"
        };
        let message = format!(
            "{what} stands at a {} place, so its bytes are not in this patch",
            touched.class
        );
        let fix = "put the file itself there, or a maintainer approves";
        findings.add(Draft::new(Rule::LinkInPlace, message, fix).at(touched.path()));
    }
}

/// A changed path that the catalog says a test of this file reads.
fn catalogued<'a>(case: &'a Case<'_>, file: &str) -> Option<&'a str> {
    let rows = case.reading.catalog.readable().flat_map(|c| &c.properties);
    let rows = rows.filter(|row| row.nodeid.path() == file);
    let globs = GlobIndex::new(rows.flat_map(|row| &row.fixtures).map(String::as_str));
    let paths = case.touched.iter().map(Touched::path);
    let mut read = paths.filter(|path| *path != file && !globs.matching(path, &mut 0).is_empty());
    read.next()
}

/// `self-rewriting-test`. A test reads what the catalog says, and what its string literals name. It may also
/// read each golden beside it or below it, and each that has the test file's stem as a word of its path.
fn self_rewriting(case: &Case<'_>, findings: &mut Findings<'_>) {
    let goldens: BTreeSet<&str> = case.of(Class::Golden).map(Touched::path).collect();
    let mut by_word: BTreeMap<&str, &str> = BTreeMap::new();
    for golden in &goldens {
        for word in golden.split(['/', '.']).flat_map(|part| part.split("__")) {
            by_word.entry(word).or_insert(golden);
        }
    }
    for touched in &case.touched {
        let is_test = touched.class == Class::Property
            || (touched.class == Class::Test && is_code(touched.path()));
        if !is_test || touched.change.merged.is_none() {
            continue;
        }
        let (dir, name) = touched
            .path()
            .rsplit_once('/')
            .unwrap_or(("", touched.path()));
        let stem = name.split('.').next().unwrap_or(name);
        let below = format!("{dir}/");
        let beside = goldens
            .range(below.as_str()..)
            .next()
            .filter(|g| g.starts_with(&below));
        let golden = beside.or_else(|| by_word.get(stem)).copied();
        let named = || {
            let files = &case.snapshot.sources.known()?.files;
            files.get(touched.path())?.reads.as_deref()
        };
        let golden = golden.or_else(|| catalogued(case, touched.path()));
        if let Some(golden) = golden.or_else(named) {
            let message = format!(
                "the test changes together with {golden}, which it may read, so it does not vote"
            );
            let fix =
                "change the expected output in a pull request of its own, or a maintainer approves";
            findings.add(Draft::new(Rule::SelfRewritingTest, message, fix).at(touched.path()));
        }
    }
}
