//! JUnit reports: what each test case came to, and whether it is the test that was asked for. PURE.
//!
//! There is no one schema, so only what all writers share is read. A report is written by code that is
//! judged: it is hostile.

#[cfg(test)]
mod tests;

use roxmltree::{Document, Node, ParsingOptions};

use crate::model::NodeId;

/// Elements, attributes and texts that a report may have.
const NODES: u32 = 500_000;
/// Suites may lie in suites, so deep.
const DEEPEST: usize = 32;

/// One test case.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Case {
    pub name: String,
    pub classname: Option<String>,
    /// Of the case, or of the suite around it.
    pub file: Option<String>,
    pub state: State,
}

/// What became of a test case.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum State {
    Passed,
    Failed(Failed),
    Skipped,
    /// It was run again: a runner that does so hides flakes.
    Repeated,
}

/// How a test case failed, in its own words.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Failed {
    /// The `type` of the failure.
    pub kind: String,
    pub message: String,
    /// The element's text, as a rule with a stack.
    pub text: String,
}

/// Reads a report.
///
/// # Errors
/// Why it is no JUnit report: a clause.
pub fn read(text: &str) -> Result<Vec<Case>, String> {
    let options = ParsingOptions {
        // Entities that a document declares can grow without end.
        allow_dtd: false,
        nodes_limit: NODES,
        ..ParsingOptions::default()
    };
    let document = Document::parse_with_options(text, options)
        .map_err(|error| format!("it is no XML that can be read ({error})"))?;
    let root = document.root_element();
    if !["testsuites", "testsuite"].contains(&root.tag_name().name()) {
        return Err(format!(
            "its root is {:?}, and not testsuites",
            root.tag_name().name()
        ));
    }
    let mut cases = Vec::new();
    suite(root, None, 0, &mut cases)?;
    Ok(cases)
}

fn suite(
    node: Node<'_, '_>,
    file: Option<&str>,
    depth: usize,
    cases: &mut Vec<Case>,
) -> Result<(), String> {
    if depth > DEEPEST {
        return Err(format!("its suites lie more than {DEEPEST} deep"));
    }
    let file = node.attribute("file").or(file);
    let before = cases.len();
    for child in node.children().filter(Node::is_element) {
        match child.tag_name().name() {
            "testsuite" => suite(child, file, depth + 1, cases)?,
            "testcase" => cases.push(case(child, file)?),
            _ => {}
        }
    }
    let counted = |name: &str| match node.attribute(name) {
        Some(count) => count.trim().parse::<u64>().unwrap_or(1) > 0,
        None => false,
    };
    let failed = |case: &Case| matches!(case.state, State::Failed(_) | State::Repeated);
    if (counted("failures") || counted("errors")) && !cases[before..].iter().any(failed) {
        return Err("its totals tell of a failure that no test case has".to_owned());
    }
    Ok(())
}

fn case(node: Node<'_, '_>, file: Option<&str>) -> Result<Case, String> {
    let own = |name: &str| node.attribute(name).map(str::to_owned);
    let mut state = State::Passed;
    for child in node.children().filter(Node::is_element) {
        let name = child.tag_name().name();
        state = match (name, state) {
            ("flakyFailure" | "flakyError" | "rerunFailure" | "rerunError", _) => State::Repeated,
            ("failure" | "error", State::Passed | State::Skipped) => State::Failed(failed(child)),
            ("skipped", State::Passed) => State::Skipped,
            (_, state) => state,
        };
    }
    Ok(Case {
        name: own("name").ok_or("a test case has no name")?,
        classname: own("classname"),
        file: own("file").or_else(|| file.map(str::to_owned)),
        state,
    })
}

fn failed(node: Node<'_, '_>) -> Failed {
    let own = |name: &str| node.attribute(name).unwrap_or_default().to_owned();
    let texts = node.descendants().filter(Node::is_text);
    Failed {
        kind: own("type"),
        message: own("message"),
        text: texts.filter_map(|text| text.text()).collect(),
    }
}

impl Case {
    /// Whether this is the test of a node id. One of these has to be the id, letter by letter: the name;
    /// class name and name; file and name; file, class name and name, each joined by `::`; or, as pytest
    /// writes it, the file as a dotted module, with the classes behind it, as class name, and the last
    /// name; that one not where the report names another file. A file may be written as a path below `tree`.
    pub fn is(&self, id: &NodeId, tree: &str) -> bool {
        let joined = |parts: &[&str]| parts.join("::") == id.as_str();
        let class = self.classname.as_deref().unwrap_or_default();
        let file = self.file.as_deref().map(|file| {
            let below = file.strip_prefix(tree).and_then(|f| f.strip_prefix('/'));
            below.unwrap_or_else(|| file.strip_prefix("./").unwrap_or(file))
        });
        let name = self.name.as_str();
        // Several files may have one dotted name.
        let is_dotted = || dotted(id).is_some_and(|(module, last)| module == class && last == name);
        joined(&[name])
            || joined(&[class, name])
            || match file {
                Some(file) => {
                    joined(&[file, name])
                        || joined(&[file, class, name])
                        || file == id.path() && is_dotted()
                }
                None => is_dotted(),
            }
    }
}

/// `tests/test_a.py::TestX::test_y[z]` as `tests.test_a.TestX` and `test_y[z]`.
fn dotted(id: &NodeId) -> Option<(String, &str)> {
    let path = id.path();
    let names = id.as_str().get(path.len() + 2..)?;
    let bracket = names.find('[').unwrap_or(names.len());
    let (classes, last) = match names[..bracket].rfind("::") {
        Some(at) => (&names[..at], &names[at + 2..]),
        None => ("", names),
    };
    let stem = path.rsplit_once('.').map_or(path, |(stem, _)| stem);
    let mut module = stem.replace('/', ".");
    for class in classes.split("::").filter(|class| !class.is_empty()) {
        module.push('.');
        module.push_str(class);
    }
    Some((module, last))
}
