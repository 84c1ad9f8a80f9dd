//! Whose packages are fetched with the operator's credentials: `[TENANT@]SCOPE`, where the scope is `@acme`, or `*` for
//! every package.

use std::str::FromStr;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CredentialRule {
    tenant: Option<String>,
    /// None for every package.
    scope: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{text:?} does not say whose packages credentials are for; write [TENANT@]SCOPE, such as @acme, u_1@@acme or *"
)]
pub struct CredentialRuleError {
    text: String,
}

// === impl CredentialRule ===

impl CredentialRule {
    pub(crate) fn allows(&self, tenant: &str, package: &str) -> bool {
        let scope = package.split_once('/').map(|(scope, _)| scope);
        let is_tenant = self.tenant.as_deref().is_none_or(|only| only == tenant);
        let is_scope = self.scope.as_deref().is_none_or(|only| Some(only) == scope);
        is_tenant && is_scope
    }
}

impl FromStr for CredentialRule {
    type Err = CredentialRuleError;

    fn from_str(text: &str) -> Result<Self, CredentialRuleError> {
        let invalid = || CredentialRuleError { text: text.chars().take(200).collect() };
        // A scope begins with an @ itself.
        let (tenant, scope) = match text.split_once('@') {
            Some(("", _)) => (None, text),
            Some((tenant, scope)) => (Some(tenant.to_owned()), scope),
            None => (None, text),
        };
        let is_scope = scope.len() > 1 && scope.starts_with('@') && !scope[1..].contains(['@', '/']);
        match scope {
            "*" => Ok(Self { tenant, scope: None }),
            _ if is_scope => Ok(Self { tenant, scope: Some(scope.to_owned()) }),
            _ => Err(invalid()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rule_is_for_a_scope_or_all_and_for_a_tenant_or_all() {
        let cases = [
            ("*", "u_1", "left-pad", true),
            ("@acme", "u_1", "@acme/x", true),
            ("@acme", "u_1", "@acmes/x", false),
            ("@acme", "u_1", "left-pad", false),
            ("u_1@*", "u_1", "left-pad", true),
            ("u_1@@acme", "u_1", "@acme/x", true),
            ("u_1@@acme", "u_2", "@acme/x", false),
        ];
        for (rule, tenant, package, expected) in cases {
            let rule: CredentialRule = rule.parse().unwrap();
            assert_eq!(rule.allows(tenant, package), expected, "{rule:?} {tenant} {package}");
        }
        for text in ["", "acme", "@", "u_1@", "u_1@acme", "@a/b", "@a@b"] {
            assert!(text.parse::<CredentialRule>().is_err(), "{text}");
        }
    }
}
