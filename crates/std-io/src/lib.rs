//! The host side of Tripoint: files, memory maps, typed reads.
