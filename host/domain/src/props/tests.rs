//! Props: what may be declared, what may be configured, what is shown.

mod declared;
mod redacted;
mod validated;

use serde_json::Value;

use super::PropDefinition;
use crate::problem::Problem;

/// Reads the props of a component that is otherwise in order.
pub(super) fn parse_props(props: Value) -> Result<Vec<PropDefinition>, Vec<Problem>> {
    let mut problems = Vec::new();
    let definitions = props
        .as_object()
        .unwrap()
        .iter()
        .filter_map(|(name, value)| PropDefinition::parse(name, value, &mut problems))
        .collect();
    if problems.is_empty() { Ok(definitions) } else { Err(problems) }
}

pub(super) fn paths(problems: &[Problem]) -> Vec<&str> {
    problems.iter().map(|problem| problem.path.as_str()).collect()
}
