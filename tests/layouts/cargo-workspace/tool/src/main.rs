fn main() {
    println!("{}", tiny_lex::Token("a".into()).text());
}
