pub fn escape(text: &str) -> String {
    text.replace('\\', "\\\\")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn escaping_never_shortens(text in ".*") {
            prop_assert!(escape(&text).len() >= text.len());
        }
    }

    #[test]
    fn nothing_stays_nothing() {
        assert_eq!(escape(""), "");
    }
}
