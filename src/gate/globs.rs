//! The protocol's globs (section 2): rooted, `*` and `?` do not cross `/`, `DIR/**` holds DIR itself,
//! `[` is a letter, dot files match, matching is case-sensitive. PURE.

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};

/// Compiles globs into one set.
///
/// # Errors
/// The first glob that is none, with what is wrong with it.
pub fn compile<'a>(globs: impl IntoIterator<Item = &'a str>) -> Result<GlobSet, globset::Error> {
    let mut set = GlobSetBuilder::new();
    let mut add = |glob: &str| -> Result<(), globset::Error> {
        let literal_brackets = glob.replace('[', "[[]");
        let glob = GlobBuilder::new(&literal_brackets)
            .literal_separator(true)
            .backslash_escape(false)
            .build()?;
        set.add(glob);
        Ok(())
    };
    for glob in globs {
        add(glob)?;
        if let Some(dir) = glob.strip_suffix("/**")
            && !dir.is_empty()
        {
            add(dir)?;
        }
    }
    set.build()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn globs_follow_the_protocol() {
        let cases: &[(&str, &str, bool)] = &[
            ("src/*.py", "src/a.py", true),
            ("src/*.py", "src/.py", true),
            ("src/*.py", "src/d/a.py", false),
            ("src/*.py", "x/src/a.py", false),
            ("src/?.py", "src/a.py", true),
            ("src/**", "src", true),
            ("src/**", "src/a/b/.c", true),
            ("src/**", "srcs", false),
            ("**/conftest.py", "conftest.py", true),
            ("**/conftest.py", "a/b/conftest.py", true),
            ("**/testdata/**", "pkg/testdata", true),
            ("**/testdata/**", "testdata/x/y", true),
            ("a[b].py", "a[b].py", true),
            ("a[b].py", "ab.py", false),
            ("**/*_test.{go,py}", "x/y_test.go", true),
            ("**/*_test.{go,py}", "x/y_test.rs", false),
            ("SRC/**", "src/a", false),
            ("packages/*/{src,lib}/**", "packages/a/lib/b.ts", true),
            ("packages/*/{src,lib}/**", "packages/a/b/lib/b.ts", false),
        ];
        for (glob, path, expected) in cases {
            let set = compile([*glob]).expect("a glob");
            assert_eq!(set.is_match(path), *expected, "{glob} on {path}");
        }
    }
}
