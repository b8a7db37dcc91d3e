//! The `tripoint` command.
fn main() {}
