//! Tests against other implementations of the formats, in `tests/`.
