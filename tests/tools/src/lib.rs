//! What the tools share. Each is a program in `bin/`, run by hand with `just`.

pub mod program;
