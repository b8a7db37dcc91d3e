//! One-pass `.izs` recordings on microcontrollers.
#![no_std]
#![forbid(unsafe_code)]
