//! Which changed goldens and fixtures a text names by a string literal.

use std::collections::HashMap;

use crate::model::{Change, Class, SourceFacts};

/// Components of a path, counted from its end, that a literal may name: a bound on memory.
const DEEPEST: usize = 12;

/// What literals name: the end of a path, or a directory of it by two components or more.
pub(super) struct Named<'a> {
    by_text: HashMap<&'a str, &'a str>,
    first: Option<&'a str>,
}

impl<'a> Named<'a> {
    pub fn new(changes: &'a [Change], classes: &[Class]) -> Self {
        let mut by_text = HashMap::new();
        let data = changes.iter().zip(classes);
        let data = data.filter(|(_, class)| matches!(class, Class::Golden | Class::Fixture));
        let mut first = None;
        for (change, _) in data {
            let path = change.path.as_str();
            first = first.or(Some(path));
            let mut starts: Vec<usize> = vec![0];
            starts.extend(path.match_indices('/').map(|(at, _)| at + 1));
            let from = starts.len().saturating_sub(DEEPEST);
            for (nth, start) in starts.iter().enumerate().skip(from) {
                by_text.entry(&path[*start..]).or_insert(path);
                // Directories: where a later component begins, without the slash before it.
                for end in starts.iter().skip(nth + 2) {
                    by_text.entry(&path[*start..end - 1]).or_insert(path);
                }
            }
        }
        Self { by_text, first }
    }

    /// The first path that one of the literals names.
    pub fn by(&self, facts: &SourceFacts) -> Option<&'a str> {
        if self.by_text.is_empty() {
            return None;
        }
        facts.literals.iter().find_map(|literal| {
            if literal == SourceFacts::ANY_LITERAL {
                return self.first;
            }
            let parts = literal.split('/');
            let parts: Vec<&str> = parts
                .filter(|part| !matches!(*part, "" | "." | ".."))
                .collect();
            self.by_text.get(parts.join("/").as_str()).copied()
        })
    }
}
