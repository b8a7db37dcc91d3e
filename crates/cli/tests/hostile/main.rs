//! What small files can cost that promise much.

mod izs;
mod stards;
mod support;
mod views;
