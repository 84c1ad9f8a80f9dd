//! Tests of vault.

use std::fs;
use std::sync::Arc;

use super::{Context, KeyRing, RingError, Vault, VaultError};
use crate::fake::CountingEntropy;
use crate::ports::Entropy;

const HERE: Context<'static> = Context { tenant: "u_1", record: "apn_1", field: "credentials" };

fn entropy() -> Arc<dyn Entropy> {
    Arc::new(CountingEntropy::default())
}

fn vault_of(keys: &str) -> Vault {
    Vault::new(KeyRing::parse(keys).unwrap(), entropy())
}

const OLD: &str = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=";
const NEW: &str = "AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE=";

#[test]
fn a_sealed_value_opens_where_it_belongs() {
    let vault = vault_of(OLD);

    let sealed = vault.seal(HERE, b"token").unwrap();

    assert_eq!(vault.open(HERE, &sealed).unwrap().expose(), b"token");
    assert!(!serde_json::to_string(&sealed).unwrap().contains("token"));
}

#[test]
fn a_sealed_value_copied_into_another_tenant_stays_shut() {
    let vault = vault_of(OLD);
    let sealed = vault.seal(HERE, b"token").unwrap();

    for elsewhere in
        [Context { tenant: "u_2", ..HERE }, Context { record: "apn_2", ..HERE }, Context { field: "secrets", ..HERE }]
    {
        assert_eq!(vault.open(elsewhere, &sealed).unwrap_err(), VaultError::Damaged);
    }
}

#[test]
fn a_wrong_key_is_named_and_opens_nothing() {
    let sealed = vault_of(OLD).seal(HERE, b"token").unwrap();

    let error = vault_of(NEW).open(HERE, &sealed).unwrap_err();

    assert!(matches!(error, VaultError::UnknownKey { key_id } if key_id.len() == 8));
}

#[test]
fn rotation_wraps_anew_and_the_old_key_is_not_needed_any_more() {
    let sealed = vault_of(OLD).seal(HERE, b"token").unwrap();

    let rotated = vault_of(&format!("{NEW},{OLD}")).rewrap(HERE, &sealed).unwrap().unwrap();

    assert_eq!(vault_of(NEW).open(HERE, &rotated).unwrap().expose(), b"token");
    assert!(vault_of(NEW).rewrap(HERE, &rotated).unwrap().is_none());
}

#[test]
fn damaged_text_is_an_error_and_no_panic() {
    let vault = vault_of(OLD);
    let sealed = serde_json::to_string(&vault.seal(HERE, b"token").unwrap()).unwrap();

    for damaged in
        ["\"\"".to_owned(), "\"a.b\"".to_owned(), sealed.replacen('.', ".A", 1), sealed.replacen('.', ".*", 2)]
    {
        let sealed = serde_json::from_str(&damaged).unwrap();
        assert!(vault.open(HERE, &sealed).is_err(), "{damaged}");
    }
}

#[cfg(unix)]
#[test]
fn the_key_file_is_made_for_the_server_alone_and_read_again() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("encryption.key");

    let made = KeyRing::open_file(&path, &*entropy()).unwrap();
    let read = KeyRing::open_file(&path, &*entropy()).unwrap();

    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(made.current_id(), read.current_id());
}

#[cfg(unix)]
#[test]
fn a_key_file_that_others_can_read_is_refused() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("encryption.key");
    KeyRing::open_file(&path, &*entropy()).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();

    let error = KeyRing::open_file(&path, &*entropy()).err().unwrap();

    assert!(matches!(error, RingError::TooOpen { .. }), "{error}");
}

#[test]
fn a_rotated_file_holds_the_old_key_until_it_is_retired() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("encryption.key");
    let entropy = entropy();
    let old = KeyRing::open_file(&path, &*entropy).unwrap();

    let rotated = KeyRing::rotate_file(&path, &*entropy).unwrap();

    assert_ne!(rotated.current_id(), old.current_id());
    assert!(rotated.find(old.current_id()).is_some());
    assert!(KeyRing::retire_file(&path, &*entropy).unwrap().find(old.current_id()).is_none());
}

#[test]
fn what_is_not_a_key_is_named_by_its_number() {
    assert!(matches!(KeyRing::parse(&format!("{OLD} short")).err().unwrap(), RingError::Malformed { number: 2 }));
    assert!(matches!(KeyRing::parse("# nothing\n").err().unwrap(), RingError::Empty));
}
