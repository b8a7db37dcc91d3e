//! What the benchmark of TsFile needs beside its program.

pub mod decoders;
