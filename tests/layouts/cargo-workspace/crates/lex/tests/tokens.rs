use proptest::prelude::*;
use tiny_lex::Token;

mod support;

proptest! {
    #[test]
    fn a_token_keeps_its_text(text in support::words()) {
        let token = Token(text.clone());
        prop_assert_eq!(token.text(), text);
    }
}
