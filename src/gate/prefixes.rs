//! Which map rules match a path, without going over all rules for every path. PURE.

use std::collections::HashMap;

/// Raw-string prefixes (protocol 3.4) with the positions of the rules that state them.
#[derive(Debug, Default)]
pub struct PrefixIndex {
    by_prefix: HashMap<String, Vec<usize>>,
    /// Distinct lengths, ascending: a look-up makes one probe for each.
    lengths: Vec<usize>,
}

impl PrefixIndex {
    pub fn new<'a>(prefixes: impl IntoIterator<Item = &'a str>) -> Self {
        let mut index = Self::default();
        for (position, prefix) in prefixes.into_iter().enumerate() {
            let rules = index.by_prefix.entry(prefix.to_owned()).or_default();
            rules.push(position);
            index.lengths.push(prefix.len());
        }
        index.lengths.sort_unstable();
        index.lengths.dedup();
        index
    }

    /// Positions of the rules whose prefix `path` starts with, shortest prefix first.
    pub fn matching<'s>(&'s self, path: &'s str) -> impl Iterator<Item = usize> + 's {
        self.lengths
            .iter()
            .take_while(move |len| **len <= path.len())
            .filter_map(move |len| {
                path.get(..*len)
                    .and_then(|prefix| self.by_prefix.get(prefix))
            })
            .flatten()
            .copied()
    }

    pub fn matches(&self, path: &str) -> bool {
        self.matching(path).next().is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prefix_is_a_raw_string() {
        let index = PrefixIndex::new(["src/pars", "src/", "lib/é", "src/parse.py", "src/"]);
        let of = |path| index.matching(path).collect::<Vec<_>>();
        assert_eq!(of("src/parse.py"), [1, 4, 0, 3]);
        assert_eq!(of("src/x"), [1, 4]);
        assert_eq!(of("lib/éa"), [2]);
        assert_eq!(
            of("lib/è"),
            [] as [usize; 0],
            "a cut inside a character is no match"
        );
        assert!(!index.matches("sr"));
    }
}
