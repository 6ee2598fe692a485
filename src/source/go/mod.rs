//! Go, as `go test` collects it: `TestX` and `FuzzX` functions, and subtests of `t.Run` with a literal
//! name.

mod body;

use super::items::{DEEPEST, Facts, Items, Place, disabled, names_in, quoted};
use super::level::{Mentions, Role, Unit, add_kept, kept};
use super::syntax::{Id, Syntax};
use crate::digest::{self, Pieces};
use crate::model::{Disabled, FileDigest, Generator, Import, ItemSort};
use body::Run;

/// What a file says; the line where it cannot be read.
pub(super) fn read(syntax: &Syntax<'_>) -> Result<Facts, u32> {
    let file = File {
        syntax,
        functions: functions(syntax),
        off: constraint(syntax).or_else(|| idle_main(syntax)),
    };
    let context = file.context();
    let mut items = Items::default();
    for function in &file.functions {
        file.add_function(&mut items, function, &context)?;
    }
    Ok(Facts {
        items: items.into_vec(),
        imports: imports(syntax),
        rest: context,
        frame: None,
        modules: Vec::new(),
        makes_more: false,
    })
}

/// A test or fuzz target.
struct Function<'t> {
    whole: Id,
    name: &'t str,
    name_at: Id,
    body: Id,
    /// What its `*testing.T` or `*testing.F` is called.
    handle: &'t str,
    fuzz: bool,
}

struct File<'s, 't> {
    syntax: &'s Syntax<'t>,
    functions: Vec<Function<'t>>,
    /// What keeps the whole file from being built, or run.
    off: Option<Disabled>,
}

fn functions<'t>(syntax: &Syntax<'t>) -> Vec<Function<'t>> {
    syntax
        .parts(syntax.root())
        .filter(|id| syntax.kind(*id) == "function_declaration")
        .filter_map(|whole| {
            let name_at = syntax.child(whole, "name")?;
            let name = syntax.text(name_at);
            let (handle, sort) = body::handle(syntax, whole)?;
            let rest = match sort {
                "T" => name.strip_prefix("Test")?,
                "F" => name.strip_prefix("Fuzz")?,
                _ => return None,
            };
            // `Testify` is no test; `Test`, `Test1` and `TestIfy` are.
            let counts = !rest.starts_with(char::is_lowercase);
            let generic = syntax.child(whole, "type_parameters").is_some();
            (counts && !generic).then_some(Function {
                whole,
                name,
                name_at,
                body: syntax.child(whole, "body")?,
                handle,
                fuzz: sort == "F",
            })
        })
        .collect()
}

/// A build constraint: whether the file is built depends on where.
fn constraint(syntax: &Syntax<'_>) -> Option<Disabled> {
    syntax
        .children(syntax.root())
        .take_while(|id| syntax.is_comment(*id))
        .find(|id| {
            let text = syntax.text(*id);
            let comment = text.trim_start_matches('/').trim_start();
            text.starts_with("//go:build")
                || (text.starts_with("//") && comment.starts_with("+build"))
        })
        .map(|id| {
            let why = format!("built only under {}", quoted(syntax.text(id)));
            disabled(syntax.line(id), why)
        })
}

/// A `TestMain` that never runs the tests.
fn idle_main(syntax: &Syntax<'_>) -> Option<Disabled> {
    let main = syntax.parts(syntax.root()).find(|id| {
        let name = syntax.child(*id, "name");
        syntax.kind(*id) == "function_declaration"
            && name.is_some_and(|name| syntax.text(name) == "TestMain")
    })?;
    let (handle, "M") = body::handle(syntax, main)? else {
        return None;
    };
    let runs = syntax
        .tokens(main)
        .filter(|token| syntax.kind(*token) == "identifier")
        .filter(|token| syntax.text(*token) == handle)
        // The parameter itself, and at least one use.
        .nth(1);
    let line = syntax.line(main);
    runs.is_none()
        .then(|| disabled(line, "TestMain never runs the tests"))
}

impl<'t> File<'_, 't> {
    /// The file without its tests.
    fn context(&self) -> FileDigest {
        let syntax = self.syntax;
        let definitions = self
            .functions
            .iter()
            .map(|function| (function.name, syntax.range(function.whole)));
        let mentions = Mentions::new(syntax, definitions);
        let apart: std::collections::HashSet<Id> = self
            .functions
            .iter()
            .filter(|function| !mentions.elsewhere(function.name))
            .map(|function| function.whole)
            .collect();
        let units = units(syntax, syntax.root(), |id| apart.contains(&id));
        let mut pieces = Pieces::default();
        add_kept(&mut pieces, syntax, &units);
        pieces.finish()
    }

    fn add_function(
        &self,
        items: &mut Items,
        function: &Function<'t>,
        context: &FileDigest,
    ) -> Result<(), u32> {
        let syntax = self.syntax;
        let names = vec![function.name.to_owned()];
        let place = Place::of(syntax, function.whole, Some(function.name_at));
        let item = items.add(syntax, (names.clone(), ItemSort::Test), &place, context)?;
        item.disabled =
            body::skip_of(syntax, function.body, function.handle).or_else(|| self.off.clone());
        item.generator = if function.fuzz {
            Some(Generator::GoFuzz)
        } else {
            body::generator(syntax, function.body)
        };
        item.seed = body::seed(syntax, function.body);
        let off = item.disabled.clone();
        if !function.fuzz {
            self.add_subtests(items, function, (names, context.clone(), off))?;
        }
        Ok(())
    }

    /// The subtests of a function, level by level.
    fn add_subtests(
        &self,
        items: &mut Items,
        function: &Function<'t>,
        (names, context, off): (Vec<String>, FileDigest, Option<Disabled>),
    ) -> Result<(), u32> {
        let syntax = self.syntax;
        let mut open = vec![(function.body, function.handle, names, context, off)];
        while let Some((block, handle, names, context, off)) = open.pop() {
            if names.len() >= DEEPEST {
                return Err(syntax.line(block));
            }
            let runs = body::runs(syntax, block, handle);
            let context = inner_context(syntax, block, &runs, &context);
            for run in runs {
                let name = run.name.as_deref().map(|name| name.replace(' ', "_"));
                let place = Place::of(syntax, run.statement, run.name_at);
                let (own, sort) = match &name {
                    Some(name) => (names_in(&names, name), ItemSort::Test),
                    None => (names.clone(), ItemSort::Computed),
                };
                let item = items.add(syntax, (own.clone(), sort), &place, &context)?;
                item.disabled = run.blocked.clone().or_else(|| {
                    let (body, handle) = run.body?;
                    body::skip_of(syntax, body, handle)
                });
                item.disabled = item.disabled.take().or_else(|| off.clone());
                item.generator = body::generator(syntax, run.statement);
                item.seed = body::seed(syntax, run.statement);
                if let (Some((body, handle)), Some(_)) = (run.body, name) {
                    open.push((body, handle, own, context.clone(), item.disabled.clone()));
                }
            }
        }
        Ok(())
    }
}

fn units(syntax: &Syntax<'_>, level: Id, apart: impl Fn(Id) -> bool) -> Vec<Unit> {
    syntax
        .children(level)
        .filter(|child| !matches!(syntax.kind(*child), "{" | "}" | "\n" | ";"))
        .map(|child| {
            let role = if apart(child) { Role::Item } else { Role::Kept };
            Unit::of(syntax, child, role)
        })
        .collect()
}

/// What the subtests of a block stand in: what is around it, and its other statements.
fn inner_context(
    syntax: &Syntax<'_>,
    block: Id,
    runs: &[Run<'_>],
    around: &FileDigest,
) -> FileDigest {
    let list = syntax
        .child_of_kind(block, "statement_list")
        .unwrap_or(block);
    let statements: std::collections::HashSet<Id> = runs.iter().map(|run| run.statement).collect();
    let units = units(syntax, list, |id| statements.contains(&id));
    let left = kept(&units)
        .into_iter()
        .map(|unit| syntax.slice(unit.range.clone()).as_bytes());
    digest::pieces([around.as_str().as_bytes()].into_iter().chain(left))
}

fn imports(syntax: &Syntax<'_>) -> Vec<Import> {
    syntax
        .all()
        .filter(|id| syntax.kind(*id) == "import_spec")
        .filter_map(|id| {
            let path = syntax.text(syntax.child(id, "path")?);
            Some(Import {
                target: path.trim_matches(['"', '`']).to_owned(),
                names: Vec::new(),
                line: syntax.line(id),
            })
        })
        .collect()
}
