//! Markdown as a reader of the forge's page would see it, in the plain text of a terminal.

use anstyle::{Effects, Style};
use comfy_table::{ContentArrangement, Table, TableComponent, presets};
use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};
use unicode_width::UnicodeWidthStr as _;

use crate::render::TextStyle;

const BOLD: Style = Style::new().effects(Effects::BOLD);

/// Renders `markdown` for a terminal. What the forge does not show at first is left out: comments, and all
/// but the title of a folded part.
pub fn page(markdown: &str, style: TextStyle) -> String {
    let mut page = Page {
        style,
        out: String::new(),
        text: String::new(),
        indent: 0,
        table: None,
        row: Vec::new(),
        folded: false,
    };
    for event in Parser::new_ext(markdown, Options::ENABLE_TABLES) {
        page.take(event);
    }
    page.end_block();
    let lines: Vec<&str> = page.out.lines().map(str::trim_end).collect();
    lines.join("\n").trim_matches('\n').to_owned() + "\n"
}

struct Page {
    style: TextStyle,
    out: String,
    /// The block that is being read.
    text: String,
    /// Depth of lists.
    indent: usize,
    table: Option<Table>,
    row: Vec<String>,
    /// Inside a folded part.
    folded: bool,
}

impl Page {
    fn take(&mut self, event: Event<'_>) {
        match event {
            Event::Html(html) | Event::InlineHtml(html) => self.html(&html),
            _ if self.folded => {}
            Event::Text(text) | Event::Code(text) => self.text.push_str(&text),
            Event::SoftBreak | Event::HardBreak => self.text.push(' '),
            Event::Start(tag) => self.start(&tag),
            Event::End(tag) => self.end(tag),
            _ => {}
        }
    }

    fn start(&mut self, tag: &Tag<'_>) {
        match tag {
            Tag::Heading { .. } | Tag::Paragraph => {}
            Tag::List(_) => {
                self.end_block();
                self.indent += 1;
            }
            Tag::Table(_) => {
                let mut table = Table::new();
                table
                    .load_preset(presets::NOTHING)
                    .set_style(TableComponent::HeaderLines, '─')
                    .set_style(TableComponent::MiddleHeaderIntersections, '─')
                    .set_content_arrangement(ContentArrangement::Dynamic)
                    .set_width(u16::try_from(self.style.width).unwrap_or(u16::MAX));
                self.table = Some(table);
            }
            _ => {}
        }
    }

    fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Heading(_) => {
                let text = std::mem::take(&mut self.text);
                self.heading(&text);
            }
            TagEnd::Paragraph => {
                self.end_block();
                if self.indent == 0 {
                    self.out.push('\n');
                }
            }
            TagEnd::Item => self.end_block(),
            TagEnd::List(_) => {
                self.indent = self.indent.saturating_sub(1);
                if self.indent == 0 {
                    self.out.push('\n');
                }
            }
            TagEnd::TableCell => self.row.push(std::mem::take(&mut self.text)),
            TagEnd::TableHead => {
                let row = std::mem::take(&mut self.row);
                if let Some(table) = &mut self.table {
                    table.set_header(row);
                }
            }
            TagEnd::TableRow => {
                let row = std::mem::take(&mut self.row);
                if let Some(table) = &mut self.table {
                    table.add_row(row);
                }
            }
            TagEnd::Table => {
                if let Some(table) = self.table.take() {
                    self.out.push_str(&table.to_string());
                    self.out.push_str("\n\n");
                }
            }
            _ => {}
        }
    }

    /// Of HTML only the title of a folded part is for readers.
    fn html(&mut self, html: &str) {
        if html.contains("<details>") {
            self.end_block();
            self.folded = true;
        }
        if let Some((_, rest)) = html.split_once("<summary>") {
            let title = rest.split("</summary>").next().unwrap_or_default();
            self.out.push_str(&format!("▸ {title}\n"));
        }
        if html.contains("</details>") {
            self.folded = false;
        }
    }

    fn heading(&mut self, text: &str) {
        if self.style.colour {
            self.out.push_str(&format!("{BOLD}{text}{BOLD:#}\n"));
        } else {
            self.out.push_str(&format!("{text}\n"));
        }
    }

    /// Writes the block, wrapped; items of a list get a bullet.
    fn end_block(&mut self) {
        let text = std::mem::take(&mut self.text);
        if text.trim().is_empty() {
            return;
        }
        let depth = 2 * self.indent;
        let first = if self.indent > 0 {
            format!("{}- ", " ".repeat(depth - 2))
        } else {
            String::new()
        };
        let rest = " ".repeat(depth);
        self.out
            .push_str(&wrap(&text, self.style.width, &first, &rest));
    }
}

/// Words of `text` in lines of at most `width` columns; a word that is longer stands alone.
pub fn wrap(text: &str, width: usize, first: &str, rest: &str) -> String {
    let mut out = String::new();
    let mut line = first.to_owned();
    let mut empty = true;
    for word in text.split_whitespace() {
        if !empty && line.width() + 1 + word.width() > width {
            out.push_str(&line);
            out.push('\n');
            line = rest.to_owned();
            empty = true;
        }
        if !empty {
            line.push(' ');
        }
        line.push_str(word);
        empty = false;
    }
    out.push_str(&line);
    out.push('\n');
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAIN: TextStyle = TextStyle {
        width: 40,
        colour: false,
    };

    #[test]
    fn a_page_reads_without_its_markup() {
        let markdown = "<!-- hidden -->\n**Refused**: one `hole`.\n\n### Paths\n\n\
                        | path | live |\n| --- | --- |\n| `src/a.py` | 0 / 1 |\n\n\
                        - first item that is long enough to need a second line\n  - inner\n\n\
                        <details><summary>Write-set</summary>\n\nproduction: `src/a.py`\n\n</details>\n";
        let text = page(markdown, PLAIN);
        assert!(text.starts_with("Refused: one hole.\n\nPaths\n"), "{text}");
        assert!(text.contains(" src/a.py "), "{text}");
        assert!(
            text.contains("- first item that is long enough to need\n  a second line\n  - inner\n"),
            "{text}"
        );
        assert!(text.contains("▸ Write-set\n"), "{text}");
        for mark in ["hidden", "production", "**", "`", "<", "---|"] {
            assert!(!text.contains(mark), "{mark} in {text}");
        }
    }

    #[test]
    fn long_words_stand_alone() {
        assert_eq!(wrap("a bb cccccc d", 4, "", ""), "a bb\ncccccc\nd\n");
    }
}
