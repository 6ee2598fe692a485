//! The environment of a run: what is listed here, and nothing else.
//!
//! Invariant: no variable of a CI system (they change what generators do, lane-facts 0.1) and no token
//! reaches a run.

use std::collections::BTreeMap;
use std::path::Path;

/// Where programs are looked for when nothing else is known.
const PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// Variables of one run.
pub type Environment = BTreeMap<String, String>;

/// What every process gets: where programs are (`search`, as of `PATH`), one locale, one time zone.
pub fn bare(search: &str) -> Environment {
    // A relative entry would be looked up in the tree that a patch wrote.
    let mut absolute: Vec<&str> = search
        .split(':')
        .filter(|entry| entry.starts_with('/'))
        .collect();
    if absolute.is_empty() {
        absolute.push(PATH);
    }
    [
        ("PATH", absolute.join(":")),
        ("LC_ALL", "C.UTF-8".to_owned()),
        ("TZ", "UTC".to_owned()),
    ]
    .map(|(name, value)| (name.to_owned(), value))
    .into()
}

/// [`bare`], with a home and a folder for temporary files below the run's own folder.
pub fn of_run(search: &str, folder: &Path) -> Environment {
    let mut env = bare(search);
    for (name, below) in [("HOME", "home"), ("TMPDIR", "tmp")] {
        env.insert(
            name.to_owned(),
            folder.join(below).to_string_lossy().into_owned(),
        );
    }
    env
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_listed_reaches_a_run() {
        let env = of_run("bin:/usr/bin::/opt/x", Path::new("/r"));
        let names: Vec<&str> = env.keys().map(String::as_str).collect();
        assert_eq!(names, ["HOME", "LC_ALL", "PATH", "TMPDIR", "TZ"]);
        assert_eq!(env["PATH"], "/usr/bin:/opt/x");
        assert_eq!(bare("")["PATH"], PATH);
    }
}
