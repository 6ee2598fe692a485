//! A syntax tree laid out flat, in the order of the text, so that every walk over it is a loop.
//!
//! Invariant: parsing ends after a number of steps that depends on the text's length alone, and
//! nothing here recurses, however deep the text nests.

use std::num::NonZero;
use std::ops::{ControlFlow, Range};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tree_sitter::{Language, LogType, Node as Raw, ParseOptions, ParseState, Parser, Tree};

/// Callbacks of the parser (one per hundred of its steps) that any text may take, how many more for
/// each hundred bytes, and how many in all. Well-formed source takes between one and six for each
/// hundred bytes.
const STEPS_AT_LEAST: usize = 500;
const STEPS_PER_100_BYTES: usize = 7;
const MOST_STEPS: usize = 20_000;

/// Steps after an error cost a hundred times what others do, but only the parser's log tells of errors,
/// and it slows the parser down. So of this many callbacks one is logged, once errors were found every
/// other one, and the text is given up when errors were found so many times.
const LOGGED_ONE_IN: usize = 50;
const MOST_ERRORS: u32 = 4;

/// A node, by its place in [`Syntax`]. Later in the text is greater.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Id(u32);

struct Node<'t> {
    kind: &'t str,
    /// The node's role in its parent; empty for none.
    field: &'t str,
    start: u32,
    end: u32,
    line: u32,
    end_line: u32,
    /// The first node that is not below this one.
    next: u32,
    parent: u32,
    named: bool,
}

pub(super) struct Syntax<'t> {
    pub text: &'t str,
    nodes: Vec<Node<'t>>,
}

/// Parses `text`; the 1-based line of the first syntax error where there is one.
pub(super) fn parse(parser: &mut Parser, text: &str) -> Result<Tree, u32> {
    let bytes = text.as_bytes();
    let mut left = MOST_STEPS.min(STEPS_AT_LEAST + bytes.len() / 100 * STEPS_PER_100_BYTES);
    let mut failed_at = None;
    let mut errors = 0;
    let mut logged = false;
    let mut pause = LOGGED_ONE_IN / 2;
    let tree = loop {
        let seen = Arc::new(AtomicBool::new(false));
        if logged {
            parser.set_logger(Some(logger(&seen)));
        }
        let part = if logged || errors > 0 { 1 } else { pause };
        let mut at = 0;
        // A parse that was broken off goes on where it was.
        let tree = parse_part(parser, bytes, part.min(left), &mut at);
        parser.set_logger(None);
        left = left.saturating_sub(part);
        if seen.load(Ordering::Relaxed) {
            failed_at.get_or_insert(at);
            errors += 1;
        }
        if tree.is_some() {
            break tree;
        }
        if left == 0 || errors >= MOST_ERRORS {
            failed_at.get_or_insert(at);
            break None;
        }
        logged = !logged;
        pause = LOGGED_ONE_IN;
    };
    let Some(tree) = tree else {
        parser.reset();
        return Err(line_of(bytes, failed_at.unwrap_or(0)));
    };
    if tree.root_node().has_error() {
        Err(first_error(&tree))
    } else {
        Ok(tree)
    }
}

/// Parses on for so many callbacks; `at` becomes how far it came.
fn parse_part(parser: &mut Parser, bytes: &[u8], steps: usize, at: &mut usize) -> Option<Tree> {
    let mut left = steps;
    let mut watch = |state: &ParseState| {
        *at = state.current_byte_offset();
        if left == 0 {
            return ControlFlow::Break(());
        }
        left -= 1;
        ControlFlow::Continue(())
    };
    parser.parse_with_options(
        &mut |at, _| bytes.get(at..).unwrap_or_default(),
        None,
        Some(ParseOptions::new().progress_callback(&mut watch)),
    )
}

/// Says in `seen` when every reading of the text has failed, and the parser goes on from the best.
fn logger(seen: &Arc<AtomicBool>) -> Logger {
    let seen = Arc::clone(seen);
    Box::new(move |_, message| {
        if message.starts_with("resume version") {
            seen.store(true, Ordering::Relaxed);
        }
    })
}

/// What [`Parser::set_logger`] takes.
type Logger = Box<dyn FnMut(LogType, &str) + Send>;

fn line_of(bytes: &[u8], at: usize) -> u32 {
    let before = &bytes[..at.min(bytes.len())];
    memchr::memchr_iter(b'\n', before).count() as u32 + 1
}

fn first_error(tree: &Tree) -> u32 {
    let mut cursor = tree.walk();
    loop {
        let node = cursor.node();
        if node.is_error() || node.is_missing() {
            return node.start_position().row as u32 + 1;
        }
        if node.has_error() && cursor.goto_first_child() {
            continue;
        }
        while !cursor.goto_next_sibling() {
            if !cursor.goto_parent() {
                return 1;
            }
        }
    }
}

impl<'t> Syntax<'t> {
    pub fn new(tree: &'t Tree, text: &'t str) -> Self {
        let mut nodes: Vec<Node<'t>> = Vec::with_capacity(tree.root_node().descendant_count());
        let mut cursor = tree.walk();
        let mut open: Vec<u32> = Vec::new();
        let mut names = Names::new(&tree.language());
        loop {
            let field = names.field(cursor.field_id(), || cursor.field_name());
            let parent = open.last().copied().unwrap_or(0);
            let here = nodes.len() as u32;
            let raw = cursor.node();
            nodes.push(node_of(raw, names.kind(raw), field, parent));
            if cursor.goto_first_child() {
                open.push(here);
                continue;
            }
            nodes[here as usize].next = here + 1;
            while !cursor.goto_next_sibling() {
                let Some(closed) = open.pop() else {
                    return Self { text, nodes };
                };
                cursor.goto_parent();
                nodes[closed as usize].next = nodes.len() as u32;
            }
        }
    }

    pub fn root(&self) -> Id {
        Id(0)
    }

    fn node(&self, id: Id) -> &Node<'t> {
        &self.nodes[id.0 as usize]
    }

    pub fn kind(&self, id: Id) -> &'t str {
        self.node(id).kind
    }

    pub fn field(&self, id: Id) -> &'t str {
        self.node(id).field
    }

    pub fn is_comment(&self, id: Id) -> bool {
        matches!(self.kind(id), "comment" | "line_comment" | "block_comment")
    }

    pub fn text(&self, id: Id) -> &'t str {
        self.slice(self.range(id))
    }

    /// What stands at a range of bytes; empty when the range cuts a character.
    pub fn slice(&self, range: Range<usize>) -> &'t str {
        self.text.get(range).unwrap_or("")
    }

    pub fn range(&self, id: Id) -> Range<usize> {
        let node = self.node(id);
        node.start as usize..node.end as usize
    }

    /// 1-based.
    pub fn line(&self, id: Id) -> u32 {
        self.node(id).line
    }

    /// 1-based.
    pub fn end_line(&self, id: Id) -> u32 {
        self.node(id).end_line
    }

    pub fn parent(&self, id: Id) -> Option<Id> {
        (id.0 > 0).then(|| Id(self.node(id).parent))
    }

    /// The first node, or place, after `id` and what is below it.
    pub fn after(&self, id: Id) -> Id {
        Id(self.node(id).next)
    }

    /// The children, punctuation and comments included.
    pub fn children(&self, id: Id) -> impl Iterator<Item = Id> + '_ {
        let end = self.node(id).next;
        let mut at = id.0 + 1;
        std::iter::from_fn(move || {
            let child = Id(at);
            (at < end).then(|| {
                at = self.node(child).next;
                child
            })
        })
    }

    /// The children that the grammar names, without comments.
    pub fn parts(&self, id: Id) -> impl Iterator<Item = Id> + '_ {
        self.children(id)
            .filter(|child| self.node(*child).named && !self.is_comment(*child))
    }

    pub fn first_part(&self, id: Id) -> Option<Id> {
        self.parts(id).next()
    }

    pub fn child(&self, id: Id, field: &str) -> Option<Id> {
        self.children(id).find(|child| self.field(*child) == field)
    }

    pub fn child_of_kind(&self, id: Id, kind: &str) -> Option<Id> {
        self.children(id).find(|child| self.kind(*child) == kind)
    }

    /// Every node below `id`, in the order of the text.
    pub fn below(&self, id: Id) -> impl Iterator<Item = Id> + use<'_, 't> {
        (id.0 + 1..self.node(id).next).map(Id)
    }

    /// The tokens of `id` in their order, without comments; a literal is one token.
    pub fn tokens(&self, id: Id) -> impl Iterator<Item = Id> + use<'_, 't> {
        let end = self.node(id).next;
        let mut at = id.0;
        std::iter::from_fn(move || {
            while at < end {
                let here = Id(at);
                let node = self.node(here);
                let whole = node.kind.ends_with("_literal") || node.kind == "string";
                if self.is_comment(here) {
                    at = node.next;
                } else if whole || node.next == at + 1 {
                    at = node.next;
                    return Some(here);
                } else {
                    at += 1;
                }
            }
            None
        })
    }

    /// Every node.
    pub fn all(&self) -> impl Iterator<Item = Id> + use<'_, 't> {
        (0..self.nodes.len() as u32).map(Id)
    }
}

/// Names by their ids: the grammar measures and checks a name each time it is asked for one.
struct Names<'t> {
    kinds: Vec<Option<&'t str>>,
    fields: Vec<Option<&'t str>>,
}

impl<'t> Names<'t> {
    fn new(language: &Language) -> Self {
        Self {
            kinds: vec![None; language.node_kind_count()],
            fields: vec![None; language.field_count() + 1],
        }
    }

    fn kind(&mut self, raw: Raw<'t>) -> &'t str {
        // Errors have an id beyond all others.
        match self.kinds.get_mut(usize::from(raw.kind_id())) {
            Some(name) => name.get_or_insert_with(|| raw.kind()),
            None => raw.kind(),
        }
    }

    fn field(
        &mut self,
        id: Option<NonZero<u16>>,
        name: impl FnOnce() -> Option<&'t str>,
    ) -> &'t str {
        let Some(id) = id else { return "" };
        match self.fields.get_mut(usize::from(id.get())) {
            Some(known) => known.get_or_insert_with(|| name().unwrap_or("")),
            None => name().unwrap_or(""),
        }
    }
}

fn node_of<'t>(raw: Raw<'t>, kind: &'t str, field: &'t str, parent: u32) -> Node<'t> {
    let (start, end) = (raw.start_position(), raw.end_position());
    Node {
        kind,
        field,
        start: raw.start_byte() as u32,
        end: raw.end_byte() as u32,
        line: start.row as u32 + 1,
        // A node that ends with its line's end ends on that line.
        end_line: (end.row as u32 + u32::from(end.column > 0)).max(start.row as u32 + 1),
        next: 0,
        parent,
        named: raw.is_named(),
    }
}
