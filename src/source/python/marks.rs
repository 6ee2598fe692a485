//! Decorators and marks: what skips a test or some of its rows, what generates its inputs, what fixes
//! its seed.

use super::names::Names;
use crate::model::{Disabled, Generator, SkippedRow};
use crate::source::items::{disabled, quoted};
use crate::source::syntax::Id;

/// Marks of one expression that are read; more of them count as skipping.
const MOST_MARKS: usize = 200;

/// What the decorators of one definition say.
#[derive(Default)]
pub(super) struct Marks {
    pub disabled: Option<Disabled>,
    pub rows: Vec<SkippedRow>,
    pub generator: Option<Generator>,
    pub seed: Option<u32>,
    pub fixture: bool,
    /// A fixture that every test uses without asking.
    pub autouse: bool,
}

impl Marks {
    pub fn of(names: &Names<'_, '_>, decorators: impl Iterator<Item = Id>) -> Self {
        let mut marks = Self::default();
        for decorator in decorators {
            if let Some(expression) = names.syntax.first_part(decorator) {
                marks.read(names, expression);
            }
        }
        marks
    }

    fn read(&mut self, names: &Names<'_, '_>, mark: Id) {
        let syntax = names.syntax;
        let line = syntax.line(mark);
        if let Some(found) = skipping(names, mark) {
            self.disabled.get_or_insert(found);
        }
        if names.ends_with(mark, &["fixture", "yield_fixture"]) {
            self.fixture = true;
            self.autouse |= keyword(names, mark, "autouse").is_some();
            self.disabled
                .get_or_insert_with(|| disabled(line, "a fixture, not a test"));
        }
        if names.ends_with(mark, &["given"]) {
            self.generator = Some(Generator::Hypothesis);
        }
        let fixed = names.ends_with(mark, &["seed", "reproduce_failure"])
            || keyword(names, mark, "derandomize").is_some_and(|v| syntax.text(v) == "True");
        if fixed {
            self.seed.get_or_insert(line);
        }
        if names.ends_with(mark, &["parametrize"]) {
            self.rows_of(names, mark);
        }
    }

    fn rows_of(&mut self, names: &Names<'_, '_>, mark: Id) {
        let syntax = names.syntax;
        let values = keyword(names, mark, "argvalues").or_else(|| positional(names, mark, 1));
        let ids = keyword(names, mark, "ids").map(|ids| elements(names, ids));
        for list in values.map_or(Vec::new(), |values| names.values(values)) {
            if !matches!(syntax.kind(list), "list" | "tuple") {
                continue;
            }
            let rows: Vec<Id> = syntax.parts(list).take_while(|_| names.spend(1)).collect();
            let before = self.rows.len();
            for (at, row) in rows.iter().enumerate() {
                if !row_is_skipped(names, *row) {
                    continue;
                }
                let id = keyword(names, *row, "id")
                    .or_else(|| ids.as_ref().and_then(|ids| ids.get(at)).copied())
                    .and_then(|id| literal(names, id));
                let line = syntax.line(*row);
                self.rows.push(SkippedRow { line, id });
            }
            if self.rows.len() - before == rows.len() {
                let why = "every row of @pytest.mark.parametrize is skipped, or there is none";
                self.disabled
                    .get_or_insert_with(|| disabled(syntax.line(mark), why));
            }
        }
    }
}

fn row_is_skipped(names: &Names<'_, '_>, row: Id) -> bool {
    names
        .values(row)
        .into_iter()
        .filter(|row| names.syntax.kind(*row) == "call" && names.ends_with(*row, &["param"]))
        .filter_map(|row| keyword(names, row, "marks"))
        .any(|marks| skipping_in(names, marks).is_some())
}

/// The mark that skips among those of `expression`: one mark, or a list, tuple, sum or choice of them.
pub(super) fn skipping_in(names: &Names<'_, '_>, expression: Id) -> Option<Disabled> {
    let mut open = vec![expression];
    let mut steps = 0;
    while let Some(at) = open.pop() {
        steps += 1;
        if steps > MOST_MARKS {
            return Some(disabled(
                names.syntax.line(expression),
                "more marks than are read",
            ));
        }
        if let Some(found) = skipping(names, at) {
            return Some(found);
        }
        match names.syntax.kind(at) {
            "list"
            | "tuple"
            | "set"
            | "binary_operator"
            | "parenthesized_expression"
            | "conditional_expression"
            | "list_splat"
            | "expression_list" => {
                open.extend(names.syntax.parts(at).take(MOST_MARKS + 1));
            }
            "identifier" => open.extend(names.values(at).into_iter().filter(|v| *v != at)),
            _ => {}
        }
    }
    None
}

/// Does this one mark or decorator keep the test from running, or from failing?
///
/// Conditions are not evaluated, and an unknown decorator whose name says that it skips is believed.
fn skipping(names: &Names<'_, '_>, mark: Id) -> Option<Disabled> {
    let paths = names.paths(mark);
    let skips = paths.iter().any(|path| {
        path.last().is_some_and(|last| {
            let last = last.trim_start_matches('_').to_ascii_lowercase();
            last.starts_with("skip")
                || last.starts_with("xfail")
                || matches!(
                    last.as_str(),
                    "expectedfailure" | "expected_failure" | "nottest"
                )
        })
    });
    let spelled = paths.first()?.join(".");
    let line = names.syntax.line(mark);
    skips.then(|| disabled(line, format!("skipped by {}", quoted(&spelled))))
}

fn arguments(names: &Names<'_, '_>, call: Id) -> Option<Id> {
    (names.syntax.kind(call) == "call")
        .then(|| names.syntax.child(call, "arguments"))
        .flatten()
}

/// The value of a keyword argument.
pub(super) fn keyword(names: &Names<'_, '_>, call: Id, name: &str) -> Option<Id> {
    let syntax = names.syntax;
    syntax
        .parts(arguments(names, call)?)
        .take_while(|_| names.spend(1))
        .filter(|part| syntax.kind(*part) == "keyword_argument")
        .find(|part| {
            let own = syntax.child(*part, "name");
            own.is_some_and(|own| syntax.text(own) == name)
        })
        .and_then(|part| syntax.child(part, "value"))
}

/// The `at`th positional argument.
pub(super) fn positional(names: &Names<'_, '_>, call: Id, at: usize) -> Option<Id> {
    names
        .syntax
        .parts(arguments(names, call)?)
        .filter(|part| names.syntax.kind(*part) != "keyword_argument")
        .nth(at)
}

fn elements(names: &Names<'_, '_>, list: Id) -> Vec<Id> {
    match names.syntax.kind(list) {
        "list" | "tuple" => names.syntax.parts(list).collect(),
        _ => Vec::new(),
    }
}

/// The text of a plain string literal, one without escapes or substitutions.
pub(super) fn literal(names: &Names<'_, '_>, string: Id) -> Option<String> {
    let syntax = names.syntax;
    if syntax.kind(string) != "string" {
        return None;
    }
    let start = syntax.child_of_kind(string, "string_start")?;
    let prefix = syntax.text(start).trim_end_matches(['"', '\'']);
    let mut text = String::new();
    for part in syntax.parts(string) {
        match syntax.kind(part) {
            "string_start" | "string_end" => {}
            "string_content" if syntax.first_part(part).is_none() => {
                text.push_str(syntax.text(part));
            }
            _ => return None,
        }
    }
    prefix.is_empty().then_some(text)
}
