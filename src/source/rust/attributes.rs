//! Attributes of Rust items, and what is known of `cfg` predicates where tests are built.

use crate::source::syntax::{Id, Syntax};

/// Predicates nested deeper than this count as unknown.
const DEEPEST: usize = 32;

/// Attributes of other crates that make a function a test, as any that ends in `test` may. What they
/// expand to is not known here, so the function stays in what is left for production.
const TESTS: &[&str] = &[
    "rstest",
    "test_case",
    "test_matrix",
    "proptest",
    "quickcheck",
    "wasm_bindgen_test",
];

/// Namespaces of attributes that the compiler passes over.
const TOOLS: &[&str] = &["rustfmt", "clippy", "diagnostic", "miri", "rust_analyzer"];

/// Attributes of the compiler that functions, modules and `impl` blocks bear.
const BUILT_IN: &[&str] = &[
    "allow",
    "automatically_derived",
    "cfg",
    "cfg_attr",
    "cold",
    "deny",
    "deprecated",
    "doc",
    "expect",
    "forbid",
    "ignore",
    "inline",
    "macro_use",
    "must_use",
    "no_mangle",
    "path",
    "should_panic",
    "target_feature",
    "test",
    "track_caller",
    "warn",
];

/// An attribute, as tokens.
pub(super) struct Attribute<'t> {
    /// The last name of its path.
    name: &'t str,
    /// The first name, when the path has several.
    namespace: Option<&'t str>,
    /// What follows the path.
    rest: Vec<&'t str>,
    pub line: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Truth {
    True,
    False,
    Unknown,
}

/// How an attribute makes a function a test.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Testing {
    /// By its name it may.
    ByName,
    /// It is known to.
    Known,
}

impl<'t> Attribute<'t> {
    /// Reads the attribute whose brackets are somewhere below `id`.
    pub fn read(syntax: &Syntax<'t>, id: Id) -> Option<Self> {
        let mut tokens = syntax
            .tokens(id)
            .map(|token| syntax.text(token))
            .skip_while(|token| *token != "[")
            .skip(1)
            .collect::<Vec<_>>();
        tokens.pop();
        let mut at = 0;
        while tokens.get(at + 1).is_some_and(|token| *token == "::") {
            at += 2;
        }
        let name = *tokens.get(at)?;
        let namespace = (at > 0).then(|| tokens[0]);
        Some(Self {
            name: name.strip_prefix("r#").unwrap_or(name),
            namespace,
            rest: tokens.split_off(at + 1),
            line: syntax.line(id),
        })
    }

    /// It is the compiler's own attribute of that name.
    pub fn is(&self, name: &str) -> bool {
        self.name == name && self.namespace.is_none()
    }

    pub fn mentions(&self, token: &str) -> bool {
        self.rest.contains(&token)
    }

    pub fn testing(&self) -> Option<Testing> {
        if self.is("test") {
            return Some(Testing::Known);
        }
        let is_a_tool = self.namespace.is_some_and(|first| TOOLS.contains(&first));
        let by_name = TESTS.contains(&self.name) || self.name.ends_with("test");
        (by_name && !is_a_tool).then_some(Testing::ByName)
    }

    /// It is the compiler's, or one that the compiler passes over.
    pub fn is_built_in(&self) -> bool {
        match self.namespace {
            Some(first) => TOOLS.contains(&first),
            None => BUILT_IN.contains(&self.name),
        }
    }

    /// As it is written, for a message.
    pub fn spelled(&self) -> String {
        let mut text = self.name.to_owned();
        for token in &self.rest {
            text.push_str(token);
            if *token == "," {
                text.push(' ');
            }
        }
        text
    }

    /// The string of `#[path = "…"]`.
    pub fn string(&self) -> Option<&'t str> {
        let text = self.rest.get(1)?.strip_prefix('"')?;
        text.strip_suffix('"')
    }

    /// What the predicate of a `cfg` or `cfg_attr` comes to where `test` is `test`.
    pub fn predicate(&self, test: bool) -> Truth {
        let mut reader = Predicate {
            tokens: &self.rest,
            at: 1,
            test,
        };
        reader.one(0)
    }
}

struct Predicate<'a> {
    tokens: &'a [&'a str],
    at: usize,
    test: bool,
}

impl Predicate<'_> {
    fn next(&mut self) -> &str {
        let token = self.tokens.get(self.at).copied().unwrap_or("");
        self.at += 1;
        token
    }

    fn peek(&self) -> &str {
        self.tokens.get(self.at).copied().unwrap_or("")
    }

    /// Depth is bounded, and what is deeper is unknown.
    fn one(&mut self, depth: usize) -> Truth {
        if depth > DEEPEST {
            self.at = self.tokens.len();
            return Truth::Unknown;
        }
        let name = self.next().to_owned();
        match self.peek() {
            "=" => {
                self.at += 2;
                Truth::Unknown
            }
            "(" => {
                self.at += 1;
                let inner = self.list(depth);
                combine(&name, &inner)
            }
            _ => self.flag(&name),
        }
    }

    fn list(&mut self, depth: usize) -> Vec<Truth> {
        let mut found = Vec::new();
        while self.at < self.tokens.len() {
            match self.peek() {
                ")" => {
                    self.at += 1;
                    break;
                }
                "," => self.at += 1,
                _ => found.push(self.one(depth + 1)),
            }
        }
        found
    }

    fn flag(&self, name: &str) -> Truth {
        match name {
            "test" if self.test => Truth::True,
            "test" => Truth::False,
            "true" => Truth::True,
            // Never set where a lane runs tests, or set by nothing at all.
            "false" | "FALSE" | "miri" | "loom" | "kani" | "fuzzing" | "shuttle" | "doc"
            | "doctest" | "docsrs" => Truth::False,
            _ => Truth::Unknown,
        }
    }
}

fn combine(name: &str, inner: &[Truth]) -> Truth {
    let has = |truth| inner.contains(&truth);
    match name {
        "all" if has(Truth::False) => Truth::False,
        "all" if has(Truth::Unknown) => Truth::Unknown,
        "all" => Truth::True,
        "any" if has(Truth::True) => Truth::True,
        "any" if has(Truth::Unknown) => Truth::Unknown,
        "any" => Truth::False,
        "not" => match inner {
            [Truth::True] => Truth::False,
            [Truth::False] => Truth::True,
            _ => Truth::Unknown,
        },
        _ => Truth::Unknown,
    }
}
