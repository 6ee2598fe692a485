//! JavaScript and TypeScript: relative specifiers as bundlers and runners resolve them, and others as
//! if a configuration mapped them to a directory above, or to a `src` there.

use super::{Found, ancestors, below, dir_of, joined};
use crate::model::SourceFacts;

/// Extensions that a specifier may leave out.
const EXTENSIONS: &[&str] = &[
    "ts", "tsx", "mts", "cts", "js", "jsx", "mjs", "cjs", "json", "d.ts",
];

pub(super) fn add(found: &mut Found<'_>, path: &str, facts: &SourceFacts) {
    let dir = dir_of(path);
    for import in &facts.imports {
        let target = import.target.split(['?', '#']).next().unwrap_or("");
        if target.starts_with("./") || target.starts_with("../") || matches!(target, "." | "..") {
            if let Some(path) = joined(dir, target) {
                add_file(found, &path);
            }
            continue;
        }
        let plain = target.trim_start_matches(['@', '~', '/']);
        let plain =
            if target.starts_with("@/") || target.starts_with("~/") || target.starts_with('/') {
                plain
            } else {
                target
            };
        if plain.is_empty() {
            continue;
        }
        for start in ancestors(dir) {
            for start in [start.to_owned(), below(start, "src")] {
                if let Some(path) = joined(&start, plain) {
                    add_file(found, &path);
                }
            }
        }
    }
}

/// The file itself, with an extension, with the source's extension in place of the output's, or the
/// index of a directory.
fn add_file(found: &mut Found<'_>, path: &str) {
    found.try_add(path.to_owned());
    let output = [
        (".js", ["ts", "tsx", "d.ts"]),
        (".jsx", ["tsx", "ts", "d.ts"]),
        (".mjs", ["mts", "ts", "d.mts"]),
        (".cjs", ["cts", "ts", "d.cts"]),
    ];
    for (extension, sources) in output {
        if let Some(stem) = path.strip_suffix(extension) {
            for source in sources {
                found.try_add(format!("{stem}.{source}"));
            }
        }
    }
    for extension in EXTENSIONS {
        found.try_add(format!("{path}.{extension}"));
    }
    if path.is_empty() || found.files.has_dir(path) {
        for extension in EXTENSIONS {
            found.try_add(below(path, &format!("index.{extension}")));
        }
        found.try_add(below(path, "package.json"));
    }
}
