//! Which calls of a JavaScript text declare a test or a block of tests, and what the call itself says.

use std::collections::{HashMap, HashSet};

use crate::model::Disabled;
use crate::source::items::disabled;
use crate::source::syntax::{Id, Syntax};

/// Links of `a.b(…).c(…)` that are followed.
const LONGEST: usize = 16;

const TESTS: &[&str] = &[
    "it", "test", "specify", "fit", "xit", "xtest", "xspecify", "testProp", "itProp",
];

const SUITES: &[&str] = &[
    "describe",
    "context",
    "suite",
    "fdescribe",
    "xdescribe",
    "xcontext",
    "xsuite",
];

/// What may stand between the root and the call for it to declare a test.
const MODIFIERS: &[&str] = &[
    "skip",
    "todo",
    "only",
    "fails",
    "failing",
    "fixme",
    "skipIf",
    "runIf",
    "each",
    "for",
    "prop",
    "concurrent",
    "sequential",
    "serial",
    "parallel",
    "shuffle",
    "describe",
    "suite",
    "test",
    "it",
];

/// Modifiers that are called themselves before the title comes.
const CURRIED: &[&str] = &["each", "for", "prop", "skipIf", "runIf"];

/// `root.property.property(…)(…)`.
pub(super) struct Chain<'t> {
    pub root: &'t str,
    pub properties: Vec<&'t str>,
    /// Arguments of the calls inside the outermost one.
    pub inner: Vec<Id>,
}

/// A call that declares a test or a suite.
pub(super) struct Declaration<'t> {
    pub chain: Chain<'t>,
    pub suite: bool,
    pub arguments: Vec<Id>,
    pub title: Option<Id>,
    pub callback: Option<Id>,
}

/// What the names of test functions stand for in one file.
pub(super) struct Roots<'t> {
    /// Imported under another name.
    aliases: HashMap<&'t str, &'t str>,
    /// Functions that the file itself defines under a name of the frameworks.
    own: HashSet<&'t str>,
}

impl<'t> Roots<'t> {
    pub fn new(syntax: &Syntax<'t>) -> Self {
        let mut roots = Self {
            aliases: HashMap::new(),
            own: HashSet::new(),
        };
        for id in syntax.all() {
            match syntax.kind(id) {
                "import_specifier" => {
                    if let (Some(name), Some(alias)) =
                        (syntax.child(id, "name"), syntax.child(id, "alias"))
                    {
                        roots.aliases.insert(syntax.text(alias), syntax.text(name));
                    }
                }
                "function_declaration" => {
                    roots
                        .own
                        .extend(syntax.child(id, "name").map(|name| syntax.text(name)));
                }
                "variable_declarator" => {
                    let value = syntax.child(id, "value");
                    if value.is_some_and(|value| is_function(syntax, value)) {
                        roots
                            .own
                            .extend(syntax.child(id, "name").map(|name| syntax.text(name)));
                    }
                }
                _ => {}
            }
        }
        roots
    }

    fn of(&self, name: &'t str) -> &'t str {
        self.aliases.get(name).copied().unwrap_or(name)
    }
}

pub(super) fn is_function(syntax: &Syntax<'_>, id: Id) -> bool {
    matches!(
        syntax.kind(id),
        "arrow_function" | "function_expression" | "generator_function"
    )
}

pub(super) fn arguments(syntax: &Syntax<'_>, call: Id) -> Vec<Id> {
    syntax
        .child(call, "arguments")
        .map_or(Vec::new(), |list| syntax.parts(list).collect())
}

/// The chain that a call's function is; `None` for anything else.
pub(super) fn chain<'t>(syntax: &Syntax<'t>, call: Id) -> Option<Chain<'t>> {
    let mut at = syntax.child(call, "function")?;
    let mut properties = Vec::new();
    let mut inner = Vec::new();
    for _ in 0..LONGEST {
        match syntax.kind(at) {
            "identifier" | "this" => {
                properties.reverse();
                return Some(Chain {
                    root: syntax.text(at),
                    properties,
                    inner,
                });
            }
            "member_expression" => {
                properties.push(syntax.text(syntax.child(at, "property")?));
                at = syntax.child(at, "object")?;
            }
            "subscript_expression" => {
                let index = syntax.child(at, "index")?;
                properties.push(syntax.text(syntax.child_of_kind(index, "string_fragment")?));
                at = syntax.child(at, "object")?;
            }
            "call_expression" => {
                inner.extend(syntax.child(at, "arguments"));
                at = syntax.child(at, "function")?;
            }
            "parenthesized_expression" | "non_null_expression" => at = syntax.first_part(at)?,
            _ => return None,
        }
    }
    None
}

/// The declaration that `call` makes. In the body of a test (`in_test`) that is `t.test("sub", …)`.
pub(super) fn declaration<'t>(
    syntax: &Syntax<'t>,
    roots: &Roots<'t>,
    call: Id,
    in_test: bool,
) -> Option<Declaration<'t>> {
    let mut chain = chain(syntax, call)?;
    let suite;
    if in_test {
        (chain.properties == ["test"] && chain.inner.is_empty()).then_some(())?;
        suite = false;
    } else {
        chain.root = roots.of(chain.root);
        if matches!(
            (chain.root, chain.properties.first()),
            ("fc" | "Deno", Some(&"test" | &"it"))
        ) {
            chain.root = chain.properties.remove(0);
        }
        suite = kind_of(&chain)?;
    }
    let arguments = arguments(syntax, call);
    let title = arguments.first().copied()?;
    let callback = arguments
        .iter()
        .copied()
        .find(|id| is_function(syntax, *id));
    Some(Declaration {
        chain,
        suite,
        arguments,
        title: Some(title).filter(|title| callback != Some(*title)),
        callback,
    })
}

/// Whether a call that is a statement may reach one that declares a test: no hook, nor what sets the framework
/// up.
pub(super) fn may_declare(syntax: &Syntax<'_>, call: Id, chain: &Chain<'_>) -> bool {
    const ROOTS: &[&str] = &["Object", "console", "expect", "fc", "jest", "process", "vi"];
    const HOOKS: &[&str] = &[
        "after",
        "afterAll",
        "afterEach",
        "before",
        "beforeAll",
        "beforeEach",
        "setup",
        "suiteSetup",
        "suiteTeardown",
        "teardown",
    ];
    let is_statement = syntax.parent(call).is_some_and(|parent| {
        matches!(
            syntax.kind(parent),
            "expression_statement" | "await_expression"
        )
    });
    let is_hook = chain.properties.is_empty() && HOOKS.contains(&chain.root);
    is_statement && !is_hook && !ROOTS.contains(&chain.root)
}

/// Whether a chain declares a suite; `None` when it declares nothing.
fn kind_of(chain: &Chain<'_>) -> Option<bool> {
    let suite = SUITES.contains(&chain.root);
    (suite || TESTS.contains(&chain.root)).then_some(())?;
    let has = |names: &[&str]| chain.properties.iter().any(|own| names.contains(own));
    let known = chain.properties.iter().all(|own| MODIFIERS.contains(own));
    // `it.each(table)` alone declares nothing yet.
    let complete = has(CURRIED) != chain.inner.is_empty();
    (known && complete).then_some(suite || has(&["describe", "suite"]))
}

impl Declaration<'_> {
    fn has(&self, names: &[&str]) -> bool {
        self.chain.properties.iter().any(|own| names.contains(own))
    }

    pub fn is_only(&self, syntax: &Syntax<'_>) -> bool {
        self.has(&["only"])
            || matches!(self.chain.root, "fit" | "fdescribe")
            || self.option(syntax, &["only"]).is_some()
    }

    pub fn generates(&self) -> bool {
        self.has(&["prop"]) || self.chain.root.ends_with("Prop")
    }

    /// The spelling of what is called, for a message.
    fn spelled(&self) -> String {
        let mut text = self.chain.root.to_owned();
        for property in &self.chain.properties {
            text.push('.');
            text.push_str(property);
        }
        text
    }

    /// What the call itself says against running.
    pub fn disabled(&self, syntax: &Syntax<'_>, roots: &Roots<'_>, call: Id) -> Option<Disabled> {
        let line = syntax.line(call);
        let spelled = self.spelled();
        if self.has(&["skip", "fixme"]) || self.chain.root.starts_with('x') {
            return Some(disabled(line, format!("skipped by {spelled}")));
        }
        if self.has(&["todo"]) {
            return Some(disabled(line, format!("only planned, by {spelled}")));
        }
        if self.has(&["fails", "failing"]) {
            return Some(disabled(line, format!("expected to fail, by {spelled}")));
        }
        if self.has(&["skipIf", "runIf"]) {
            return Some(disabled(
                line,
                format!("run only under a condition, by {spelled}"),
            ));
        }
        if roots.own.contains(self.chain.root) {
            let why = format!("{} is a function of this file", self.chain.root);
            return Some(disabled(line, why));
        }
        if let Some(option) = self.option(syntax, &["skip", "todo", "fails", "ignore"]) {
            return Some(disabled(syntax.line(option), "skipped by its options"));
        }
        let others = self.arguments.iter().skip(1);
        let bodiless = others.clone().all(|id| syntax.kind(*id) == "object");
        let titled = self.title.is_some();
        (bodiless && titled).then(|| disabled(line, "it has no body"))
    }

    /// The option of one of these names that is not plainly `false`.
    fn option(&self, syntax: &Syntax<'_>, names: &[&str]) -> Option<Id> {
        self.arguments
            .iter()
            .find_map(|object| option(syntax, *object, names))
    }

    /// Its title, where the source says it: without substitutions or placeholders.
    pub fn literal_title(&self, syntax: &Syntax<'_>) -> Option<String> {
        let title = string(syntax, self.title?)?;
        let table = self.has(&["each", "for"]) && title.contains(['%', '$']);
        (!table).then_some(title)
    }
}

/// The member of an object literal that has one of these names and is not plainly `false`.
pub(super) fn option(syntax: &Syntax<'_>, object: Id, names: &[&str]) -> Option<Id> {
    if syntax.kind(object) != "object" {
        return None;
    }
    syntax.parts(object).find(|member| {
        let (key, value) = match syntax.kind(*member) {
            "pair" => (syntax.child(*member, "key"), syntax.child(*member, "value")),
            "shorthand_property_identifier" => (Some(*member), None),
            _ => (None, None),
        };
        let named =
            key.is_some_and(|key| names.contains(&syntax.text(key).trim_matches(['"', '\''])));
        named && value.is_none_or(|value| syntax.kind(value) != "false")
    })
}

/// What a string, or a template without substitutions, says.
pub(super) fn string(syntax: &Syntax<'_>, id: Id) -> Option<String> {
    if !matches!(syntax.kind(id), "string" | "template_string") {
        return None;
    }
    let mut text = String::new();
    for part in syntax.parts(id) {
        match syntax.kind(part) {
            "string_fragment" => text.push_str(syntax.text(part)),
            "escape_sequence" => text.extend(unescaped(syntax.text(part))),
            _ => return None,
        }
    }
    Some(text)
}

/// The character of an escape; nothing for a continued line or what is no character.
fn unescaped(escape: &str) -> Option<char> {
    let mut rest = escape.chars().skip(1);
    let code = |digits: &str| {
        u32::from_str_radix(digits, 16)
            .ok()
            .and_then(char::from_u32)
    };
    match rest.next()? {
        'n' => Some('\n'),
        't' => Some('\t'),
        'r' => Some('\r'),
        'b' => Some('\u{8}'),
        'f' => Some('\u{c}'),
        'v' => Some('\u{b}'),
        '0' => Some('\0'),
        '\n' | '\r' => None,
        'x' | 'u' => code(escape.get(2..)?.trim_matches(['{', '}'])),
        other => Some(other),
    }
}
