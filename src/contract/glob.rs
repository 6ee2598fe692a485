//! Globs of protocol section 2: rooted, `*` and `?` do not cross `/`, `DIR/**` holds `DIR` itself, `[`
//! is a letter, `?` is one byte as in git, dot files match, case matters, `{a,b}` are alternatives, a
//! leading `!` removes.

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};

use super::reader::why_not_canonical;

/// Globs one list may have.
pub const MAX_GLOBS: usize = 1_000;
/// Bytes one glob may have.
pub const MAX_GLOB_BYTES: usize = 1_000;

/// What is wrong with a glob, with the way out.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{glob:?} is no glob: {why}")]
pub struct GlobError {
    pub glob: String,
    pub why: String,
}

/// Globs that add and globs that remove; the order in which they stand does not matter.
#[derive(Debug, Clone, Default)]
pub struct GlobList {
    add: GlobSet,
    remove: GlobSet,
}

impl GlobList {
    /// # Errors
    /// The first text that is no glob.
    pub fn new<'a>(globs: impl IntoIterator<Item = &'a str>) -> Result<Self, GlobError> {
        let mut add = GlobSetBuilder::new();
        let mut remove = GlobSetBuilder::new();
        let mut last = "";
        for text in globs {
            let (removes, glob) = split(text);
            let set = if removes { &mut remove } else { &mut add };
            for pattern in patterns(glob).map_err(|why| error(text, why))? {
                set.add(pattern);
            }
            last = text;
        }
        let build = |set: GlobSetBuilder| {
            set.build()
                .map_err(|failed| error(last, failed.kind().to_string()))
        };
        Ok(Self {
            add: build(add)?,
            remove: build(remove)?,
        })
    }

    pub fn is_match(&self, path: &str) -> bool {
        self.add.is_match(path) && !self.remove.is_match(path)
    }
}

/// Whether the glob removes, and the glob without the `!` that says so.
pub fn split(text: &str) -> (bool, &str) {
    match text.strip_prefix('!') {
        Some(glob) => (true, glob),
        None => (false, text),
    }
}

/// The components of a glob before the first that has a wildcard: `src/a` of `src/a/*.py`. Empty when
/// the first one has.
pub fn wildcard_free_beginning(glob: &str) -> &str {
    let mut end = 0;
    for part in glob.split_inclusive('/') {
        if part.contains(['*', '?', '{']) {
            return glob[..end].trim_end_matches('/');
        }
        end += part.len();
    }
    glob
}

/// Checks one glob, a leading `!` included.
///
/// # Errors
/// What is wrong with it.
pub fn check(text: &str) -> Result<(), GlobError> {
    patterns(split(text).1)
        .map(drop)
        .map_err(|why| error(text, why))
}

fn error(glob: &str, why: String) -> GlobError {
    GlobError {
        glob: glob.chars().take(80).collect(),
        why,
    }
}

/// The patterns of `globset` that together mean `glob`.
fn patterns(glob: &str) -> Result<Vec<globset::Glob>, String> {
    refuse_foreign(glob)?;
    let directory = glob.strip_suffix("/**");
    [Some(glob), directory]
        .into_iter()
        .flatten()
        .map(|pattern| {
            // `[` is a letter here, and a class of characters there.
            GlobBuilder::new(&pattern.replace('[', "[[]"))
                .literal_separator(true)
                .backslash_escape(false)
                .build()
                .map_err(|failed| failed.kind().to_string())
        })
        .collect()
}

fn refuse_foreign(glob: &str) -> Result<(), String> {
    if glob.len() > MAX_GLOB_BYTES {
        return Err(format!("it is longer than {MAX_GLOB_BYTES} bytes"));
    }
    if let Some(directory) = glob.strip_suffix('/') {
        return Err(format!("it ends with `/`; write `{directory}/**`"));
    }
    if let Some(why) = why_not_canonical(glob) {
        return Err(why.to_owned());
    }
    if glob
        .split('/')
        .any(|part| part.contains("**") && part != "**")
    {
        return Err("`**` has to stand alone between slashes".to_owned());
    }
    refuse_foreign_braces(glob)
}

fn refuse_foreign_braces(glob: &str) -> Result<(), String> {
    let mut rest = glob;
    while let Some(at) = rest.find(['{', '}']) {
        let inside = &rest[at + 1..];
        if rest.as_bytes()[at] == b'}' {
            return Err("`}` without `{`".to_owned());
        }
        let Some(end) = inside.find(['{', '}', '/']) else {
            return Err("`{` without `}`".to_owned());
        };
        match inside.as_bytes()[end] {
            b'{' => return Err("`{` inside `{…}`".to_owned()),
            b'/' => return Err("`/` inside `{…}`; write two globs".to_owned()),
            _ => {}
        }
        if inside[..end].split(',').any(str::is_empty) {
            return Err("an empty alternative in `{…}`".to_owned());
        }
        rest = &inside[end + 1..];
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matches(globs: &[&str], path: &str) -> bool {
        GlobList::new(globs.iter().copied())
            .expect("valid globs")
            .is_match(path)
    }

    #[test]
    fn the_dialect_is_the_protocols() {
        for (glob, yes, no) in [
            (
                "src/**",
                &["src", "src/a", "src/a/b", "src/.hidden"][..],
                &["srcx", "a/src/b"][..],
            ),
            ("*.pth", &["a.pth", ".pth"], &["a/b.pth"]),
            ("**/*.snap", &["a.snap", "x/.y/a.snap"], &["a.SNAP"]),
            (
                "**/conftest.py",
                &["conftest.py", "a/b/conftest.py"],
                &["xconftest.py"],
            ),
            (
                "crates/*/src/**",
                &["crates/p/src/a.rs", "crates/p/src"],
                &["crates/p/q/src/a"],
            ),
            (
                "packages/*/{src,lib}/**",
                &["packages/a/lib/x", "packages/a/src"],
                &["packages/a/x"],
            ),
            ("a?c", &["abc", "a.c"], &["a/c", "abbc", "aéc"]),
            ("a[b]c", &["a[b]c"], &["abc"]),
            ("a]b", &["a]b"], &["ab"]),
            ("a,b", &["a,b"], &["a"]),
            ("a/**/b", &["a/b", "a/x/y/b"], &["ab"]),
            ("**", &["a", "a/b"], &[]),
        ] {
            for path in yes {
                assert!(matches(&[glob], path), "{glob} should match {path}");
            }
            for path in no {
                assert!(!matches(&[glob], path), "{glob} should not match {path}");
            }
        }
    }

    #[test]
    fn removing_globs_win_whatever_the_order() {
        for globs in [["!src/gen/**", "src/**"], ["src/**", "!src/gen/**"]] {
            assert!(matches(&globs, "src/a"));
            assert!(!matches(&globs, "src/gen/a"));
        }
    }

    #[test]
    fn foreign_globs_are_refused_with_the_way_out() {
        for (glob, why) in [
            ("", "empty"),
            ("!", "empty"),
            ("/src", "relative"),
            ("./src", "leave that out"),
            ("src/../a", "`..`"),
            ("a//b", "empty component"),
            ("src/", "write `src/**`"),
            ("a\\b", "backslash"),
            ("a\tb", "control character"),
            ("src**", "stand alone"),
            ("***", "stand alone"),
            ("{a", "without `}`"),
            ("a}", "without `{`"),
            ("{a,{b}}", "inside"),
            ("{a/b,c}", "two globs"),
            ("{a,}", "empty alternative"),
            ("{}", "empty alternative"),
        ] {
            let error = check(glob).expect_err(glob).to_string();
            assert!(error.contains(why), "{glob}: {error}");
        }
        assert!(check(&"a".repeat(MAX_GLOB_BYTES)).is_ok());
        assert!(check(&"a".repeat(MAX_GLOB_BYTES + 1)).is_err());
    }

    #[test]
    fn wildcard_free_beginnings_are_whole_components() {
        for (glob, beginning) in [
            ("src/**", "src"),
            ("src/a*/b", "src"),
            ("**/x", ""),
            ("*.pth", ""),
            ("{a,b}/c", ""),
            ("a/b.py", "a/b.py"),
            ("a/b/?", "a/b"),
        ] {
            assert_eq!(wildcard_free_beginning(glob), beginning, "{glob}");
        }
    }
}
