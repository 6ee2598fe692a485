#[derive(Debug, Clone, PartialEq)]
pub struct Token(pub String);

impl Token {
    pub fn text(&self) -> &str {
        &self.0
    }
}
