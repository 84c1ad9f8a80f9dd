//! Tests of keys and scopes.

use proptest::prelude::*;

use super::*;

#[test]
fn the_checksum_is_the_one_of_zip_files() {
    assert_eq!(crc32(b"123456789"), 0xcbf4_3926);
}

#[test]
fn a_key_names_its_record_and_parses_again() {
    let key = KeyText::from_random([7; 16], [9; 32]);
    let text = key.clone().into_text();

    assert_eq!(text.len(), 4 + 12 + 43 + 6);
    assert_eq!(key.record_id(), format!("key_{}", &text[4..16]));
    assert_eq!(KeyText::parse(&text), Some(Ok(key)));
    assert_eq!(KeyText::from_random([0xff; 16], [0xff; 32]).into_text().len(), text.len());
}

#[test]
fn a_text_of_another_shape_is_not_judged() {
    for text in ["", "ws_abc", "chosen-by-the-operator", "WSK_abc", "wsk"] {
        assert_eq!(KeyText::parse(text), None, "{text}");
    }
}

proptest! {
    #[test]
    fn one_wrong_two_swapped_or_missing_characters_are_noticed(
        id: [u8; 16], secret: [u8; 32], at in 4_usize..65, other in "[0-9A-Za-z]",
    ) {
        let text = KeyText::from_random(id, secret).into_text();
        let mut replaced: Vec<char> = text.chars().collect();
        replaced[at] = other.chars().next().unwrap();
        let replaced: String = replaced.into_iter().collect();
        let mut swapped: Vec<char> = text.chars().collect();
        let next = if at == 64 { 63 } else { at + 1 };
        swapped.swap(at, next);
        let swapped: String = swapped.into_iter().collect();

        for wrong in [replaced, swapped, text[..at].to_owned(), format!("{text}{other}")] {
            let expected = if wrong == text { Ok(KeyText(text.clone())) } else { Err(Mistyped) };
            prop_assert_eq!(KeyText::parse(&wrong), Some(expected), "{}", wrong);
        }
    }
}

#[test]
fn scopes_are_sorted_and_always_read() {
    let parse = |names: &[&str]| Scopes::parse(names.iter().copied());

    assert_eq!(parse(&["deploy", "write", "deploy"]), Ok(Scopes(vec![Scope::Read, Scope::Write, Scope::Deploy])));
    assert_eq!(parse(&["read", "write", "deploy", "admin"]), Ok(Scopes::all()));
    assert_eq!(parse(&[]), Err(ScopeError::None));
    assert_eq!(parse(&["Read"]), Err(ScopeError::Unknown { given: "Read".into() }));
}

#[test]
fn what_is_missing_is_named() {
    let deploy = Scopes::parse(["deploy"]).unwrap();

    assert_eq!(deploy.first_missing(&Scopes::parse(["read"]).unwrap()), None);
    assert_eq!(deploy.first_missing(&Scopes::parse(["deploy", "write"]).unwrap()), Some(Scope::Write));
    assert_eq!(Scopes::all().without(Scope::Admin).first_missing(&Scopes::all()), Some(Scope::Admin));
}
