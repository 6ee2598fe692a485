pub mod escape;
mod token;

pub use token::Token;
