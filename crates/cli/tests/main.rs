//! The tests of the command: one program, because linking many takes longer than running them.

mod common;
mod devices;
mod documents;
mod export;
mod guide;
mod judged;
mod models;
mod refused;
mod runs;
mod serve;
mod train;
mod tune;
mod verbs;
mod web;
