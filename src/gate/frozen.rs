//! Which rows block a property (protocol 5.2, last paragraph). PURE.
//!
//! A row blocks a property when they name the same node, when either lies inside the other, or when
//! the tree may not have the test that the row names and its text could mean the property. When in doubt it
//! blocks.

use std::collections::{BTreeSet, HashMap};

use super::rows::Row;
use crate::model::NodeId;

/// Rows that are not closed, indexed so that a property costs its depth, not the list's length.
#[derive(Default)]
pub struct FrozenRows<'a> {
    rows: &'a [Row<'a>],
    by_id: HashMap<&'a str, Vec<usize>>,
    /// Every id that encloses a row, itself left out.
    by_enclosing: HashMap<&'a str, Vec<usize>>,
    /// Rows with a parameter, by their function.
    by_function: HashMap<&'a str, Vec<usize>>,
    /// Rows whose text may mean another test than it names, by the last name in them.
    dangling: HashMap<&'a str, Vec<usize>>,
}

impl<'a> FrozenRows<'a> {
    pub fn new(rows: &'a [Row<'a>]) -> Self {
        let mut index = Self {
            rows,
            ..Self::default()
        };
        for (position, row) in rows.iter().enumerate() {
            let id = row.nodeid.as_str();
            index.by_id.entry(id).or_default().push(position);
            for enclosing in row.nodeid.enclosing().filter(|outer| *outer != id) {
                index
                    .by_enclosing
                    .entry(enclosing)
                    .or_default()
                    .push(position);
            }
            if row.nodeid.param().is_some() {
                let function = row.nodeid.function();
                index
                    .by_function
                    .entry(function)
                    .or_default()
                    .push(position);
            }
            if row.may_mean_another() {
                index
                    .dangling
                    .entry(last_name(&row.nodeid))
                    .or_default()
                    .push(position);
            }
        }
        index
    }

    /// The rows that block `property`, in their order.
    pub fn blocking(&self, property: &NodeId) -> Vec<&'a Row<'a>> {
        self.positions(property)
            .into_iter()
            .map(|position| &self.rows[position])
            .collect()
    }

    /// Positions of the rows that block `property`, ascending.
    pub fn positions(&self, property: &NodeId) -> Vec<usize> {
        let mut found: BTreeSet<&usize> = BTreeSet::new();
        for outer in property.enclosing() {
            found.extend(self.by_id.get(outer).into_iter().flatten());
        }
        found.extend(
            self.by_enclosing
                .get(property.as_str())
                .into_iter()
                .flatten(),
        );
        if let Some(param) = property.param() {
            let rows = self
                .by_function
                .get(property.function())
                .into_iter()
                .flatten();
            found.extend(rows.filter(|row| {
                let other = self.rows[**row].nodeid.param().unwrap_or_default();
                !surely_differ(param, other)
            }));
        }
        if !self.dangling.is_empty() {
            for name in names(property) {
                found.extend(self.dangling.get(name).into_iter().flatten());
            }
        }
        found.into_iter().copied().collect()
    }
}

/// Directories, file, classes and function of an id, one name each, without its parameter.
fn names(id: &NodeId) -> impl Iterator<Item = &str> {
    let path = id.path();
    let rest = id.function().get(path.len()..).unwrap_or_default();
    path.split('/')
        .chain(rest.split("::").filter(|name| !name.is_empty()))
}

/// Without a parameter, which a name by itself may have too.
fn last_name(id: &NodeId) -> &str {
    let last = names(id).last().unwrap_or_default();
    match last.find('[') {
        Some(at) if at > 0 && last.ends_with(']') => &last[..at],
        _ => last,
    }
}

/// Whether two parameters are different texts once a framework's escapes are undone.
fn surely_differ(a: &str, b: &str) -> bool {
    match (unescaped(a), unescaped(b)) {
        (Some(a), Some(b)) => a != b,
        _ => false,
    }
}

/// Undoes `\xNN`, `\uNNNN`, `\UNNNNNNNN`, `\n`, `\r`, `\t`, `\\` and `\:`; `None` for anything else.
fn unescaped(text: &str) -> Option<String> {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('\\') {
        out.push_str(&rest[..at]);
        let kind = rest[at + 1..].chars().next()?;
        rest = &rest[at + 1 + kind.len_utf8()..];
        let digits = match kind {
            'x' => 2,
            'u' => 4,
            'U' => 8,
            'n' | 'r' | 't' | '\\' | ':' => 0,
            _ => return None,
        };
        if digits > 0 {
            let code = u32::from_str_radix(rest.get(..digits)?, 16).ok()?;
            out.push(char::from_u32(code)?);
            rest = &rest[digits..];
        } else {
            out.push(match kind {
                'n' => '\n',
                'r' => '\r',
                't' => '\t',
                other => other,
            });
        }
    }
    out.push_str(rest);
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gate::rows::Target;
    use crate::model::{FreezeState, Layer};

    fn id(text: &str) -> NodeId {
        text.parse().expect("a node id")
    }

    fn row(nodeid: &str) -> Row<'static> {
        Row {
            layer: Layer::Freezes,
            file: "f.json",
            line: 1,
            nodeid: id(nodeid),
            by_name: false,
            reason: "clock",
            owner: Some("@o"),
            covers: &[],
            recorded: None,
            opened_at: None,
            expires_at: None,
            state: FreezeState::Unbound,
            why: String::new(),
            current: None,
            unknown: None,
            is_added: false,
            is_candidate: false,
            is_sensitive: false,
            target: Target::There,
        }
    }

    #[track_caller]
    fn blocks(freeze: &str, property: &str, expected: bool) {
        blocks_as(Target::There, freeze, property, expected);
    }

    #[track_caller]
    fn blocks_as(target: Target, freeze: &str, property: &str, expected: bool) {
        let rows = [Row {
            target,
            ..row(freeze)
        }];
        let rows = FrozenRows::new(&rows);
        assert_eq!(
            !rows.blocking(&id(property)).is_empty(),
            expected,
            "{freeze} ({target:?}) blocks {property}"
        );
    }

    #[test]
    fn containment_blocks_in_both_directions() {
        let f = "t/p/test_a.py::TestX::test_y";
        for (freeze, property, expected) in [
            (f, f, true),
            ("t/p/test_a.py::TestX::test_y[1]", f, true),
            (f, "t/p/test_a.py::TestX::test_y[1]", true),
            ("t/p/test_a.py::TestX", f, true),
            (f, "t/p/test_a.py::TestX", true),
            ("t/p/test_a.py", f, true),
            (f, "t/p/test_a.py", true),
            ("t/p", f, true),
            ("t", f, true),
            (f, "t/p", true),
            ("t/p/test_a.py::TestX::test_yy", f, false),
            ("t/p/test_a.py::TestX::test", f, false),
            ("t/p/test_a.py::Test", f, false),
            (
                "t/p/test_a.py::TestX::test_y[1]",
                "t/p/test_a.py::TestX::test_y[2]",
                false,
            ),
            (
                "t/p/test_a.py::TestX::test_y[1]",
                "t/p/test_a.py::TestX::test_y[1]",
                true,
            ),
        ] {
            blocks(freeze, property, expected);
        }
    }

    #[test]
    fn parameters_are_compared_after_undoing_escapes_and_doubt_blocks() {
        for (freeze, property, expected) in [
            (r"\u00e9", "é", true),
            (r"\xe9", "é", true),
            (r"a\\b", r"a\b", true),
            (r"a\q", "b", true),
            (r"a\nb", "a\\x0ab", true),
            (r"\u00e9", "e", false),
        ] {
            blocks(
                &format!("t/p/test_a.py::f[{freeze}]"),
                &format!("t/p/test_a.py::f[{property}]"),
                expected,
            );
        }
    }

    #[test]
    fn a_dangling_row_blocks_what_its_text_could_mean() {
        let f = "t/p/test_a.py::TestX::test_y";
        for (freeze, expected) in [
            ("test_y", true),
            ("old/test_a.py::test_y", true),
            ("old/test_a.py::test_y[3]", true),
            ("old/test_a.py", true),
            ("TestX", true),
            ("old/test_a.py::test_z", false),
            ("test", false),
        ] {
            for target in [Target::NoFile, Target::NoTest, Target::Unsure] {
                blocks_as(target, freeze, f, expected);
            }
        }
    }

    #[test]
    fn a_name_alone_blocks_each_test_of_that_name() {
        for (name, expected) in [
            ("test_y", true),
            ("test_y[1]", true),
            ("TestX", true),
            ("test", false),
        ] {
            let rows = [Row {
                by_name: true,
                ..row(name)
            }];
            let frozen = FrozenRows::new(&rows);
            let found = frozen.blocking(&id("t/p/test_a.py::TestX::test_y"));
            assert_eq!(!found.is_empty(), expected, "{name}");
        }
    }
}
