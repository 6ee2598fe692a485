pub fn words() -> &'static str {
    "[a-z]+"
}
