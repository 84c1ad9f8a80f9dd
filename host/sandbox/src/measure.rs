//! Ways to run that only a benchmark wants.
