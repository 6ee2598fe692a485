//! What the source of a test file says (protocol section 1, "witness"; 5.2, `ghost-property`,
//! `disabled-property`, `tests-removed`, `seed-in-source`). PURE.
//!
//! Invariants: [`read`] is total and ends in bounded time on any bytes; what it cannot read it calls
//! broken, never empty. Where a text may or may not run a test, the test counts as disabled.

mod find;
mod go;
mod items;
mod javascript;
mod level;
mod literals;
mod needs;
mod python;
mod rust;
mod syntax;

#[cfg(test)]
mod tests;

pub use find::{Found, Held, conditional_by_name, find, is_test, names_of};
pub use needs::{Files, needs};

use tree_sitter::Parser;

use crate::digest;
use crate::model::{FileDigest, SourceFacts};
use items::Facts;
use syntax::Syntax;

/// Changed when [`read`] would say something else of the same bytes; part of cache keys.
pub const VERSION: u32 = 6;

/// Bytes of the largest text that is worth reading; the caller refuses more.
pub const LARGEST: usize = 1024 * 1024;

/// Bytes of all texts that one evaluation reads for the first time; the caller refuses more.
pub const BUDGET: u64 = 32 * 1024 * 1024;

/// A language with a grammar.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Language {
    Python,
    Rust,
    JavaScript,
    TypeScript,
    Tsx,
    Go,
}

impl Language {
    pub const ALL: [Self; 6] = [
        Self::Python,
        Self::Rust,
        Self::JavaScript,
        Self::TypeScript,
        Self::Tsx,
        Self::Go,
    ];

    /// The language of the file at `path`, by its extension; `None` where there is no grammar.
    pub fn of_path(path: &str) -> Option<Self> {
        let name = path.rsplit('/').next().unwrap_or(path);
        let (_, extension) = name.rsplit_once('.')?;
        Some(match extension {
            "py" | "pyi" => Self::Python,
            "rs" => Self::Rust,
            "js" | "mjs" | "cjs" | "jsx" => Self::JavaScript,
            "ts" | "mts" | "cts" => Self::TypeScript,
            "tsx" => Self::Tsx,
            "go" => Self::Go,
            _ => return None,
        })
    }

    /// As people write it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Python => "Python",
            Self::Rust => "Rust",
            Self::JavaScript => "JavaScript",
            Self::TypeScript | Self::Tsx => "TypeScript",
            Self::Go => "Go",
        }
    }

    fn grammar(self) -> tree_sitter::Language {
        match self {
            Self::Python => tree_sitter_python::LANGUAGE.into(),
            Self::Rust => tree_sitter_rust::LANGUAGE.into(),
            Self::JavaScript => tree_sitter_javascript::LANGUAGE.into(),
            Self::TypeScript => tree_sitter_typescript::LANGUAGE_TYPESCRIPT.into(),
            Self::Tsx => tree_sitter_typescript::LANGUAGE_TSX.into(),
            Self::Go => tree_sitter_go::LANGUAGE.into(),
        }
    }
}

/// Reads many texts with one parser a language.
#[derive(Default)]
pub struct Reader {
    parsers: [Option<Parser>; Language::ALL.len()],
}

impl Reader {
    pub fn new() -> Self {
        Self::default()
    }

    /// What `bytes` say. Total: text that the grammar does not take is broken, with the line.
    pub fn read(&mut self, language: Language, bytes: &[u8]) -> SourceFacts {
        let whole = digest::pieces([bytes]);
        let read = text_of(bytes).and_then(|text| {
            let parser = self.parser(language).ok_or(1u32)?;
            let tree = syntax::parse(parser, text)?;
            let syntax = Syntax::new(&tree, text);
            Ok((facts_of(language, &syntax)?, literals::of(&syntax)))
        });
        match read {
            Ok((facts, literals)) => SourceFacts {
                broken: None,
                items: facts.items,
                imports: facts.imports,
                rest: facts.rest,
                frame: facts.frame,
                modules: facts.modules,
                literals,
                makes_more: facts.makes_more,
            },
            Err(line) => broken(line, whole),
        }
    }

    /// `None` only when the grammar is newer than the parser.
    fn parser(&mut self, language: Language) -> Option<&mut Parser> {
        let slot = &mut self.parsers[language as usize];
        if slot.is_none() {
            let mut parser = Parser::new();
            parser.set_language(&language.grammar()).ok()?;
            *slot = Some(parser);
        }
        slot.as_mut()
    }
}

/// What `bytes` say, in the grammar of `language`; [`Reader::read`] for one text.
pub fn read(language: Language, bytes: &[u8]) -> SourceFacts {
    Reader::new().read(language, bytes)
}

/// UTF-8 without NUL bytes, or the line that is broken.
fn text_of(bytes: &[u8]) -> Result<&str, u32> {
    if bytes.contains(&0) {
        return Err(1);
    }
    std::str::from_utf8(bytes).map_err(|_| 1)
}

fn broken(line: u32, whole: FileDigest) -> SourceFacts {
    SourceFacts {
        broken: Some(line),
        items: Vec::new(),
        imports: Vec::new(),
        rest: whole,
        frame: None,
        modules: Vec::new(),
        literals: Vec::new(),
        makes_more: true,
    }
}

fn facts_of(language: Language, syntax: &Syntax<'_>) -> Result<Facts, u32> {
    match language {
        Language::Python => python::read(syntax),
        Language::Rust => rust::read(syntax),
        Language::JavaScript | Language::TypeScript | Language::Tsx => javascript::read(syntax),
        Language::Go => go::read(syntax),
    }
}
