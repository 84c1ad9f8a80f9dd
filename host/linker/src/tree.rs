//! Places packages in the tree of `node_modules` folders, equal to the tree that npm makes.
//!
//! Planning is pure. It is given the packuments at hand and answers with a plan or with the names of
//! packuments it needs besides; the caller fetches them and asks again. The rules are npm's (since
//! version 7): breadth first, each package as shallow as it can go without changing what others find,
//! peers together with the package that asks for them. Where npm refuses to install because peers of
//! the project itself conflict, we warn and go on: the component's author has no manifest to repair.

mod arena;
mod check;
mod collate;
mod peers;
mod place;
mod plan;

pub(crate) use plan::{Packuments, Plan, Planned, PlannedPackage, edge_specs, plan};

#[cfg(test)]
mod fuzz;
#[cfg(test)]
mod tests;
