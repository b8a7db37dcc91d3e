//! What the benchmark of `.izs` needs: files in memory, for us and for crate `iguazu`.

pub mod reference;
pub mod table;
