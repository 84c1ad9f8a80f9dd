//! Whatever a guest passes as an argument, decoding it answers or ends the run; it never reads elsewhere and never panics.

use proptest::prelude::*;

use super::{ReturnArea, Slice, replace_surrogates, write_words};
use crate::outcome::EmitMetadata;

const MEMORY_BYTES: usize = 4096;

fn addresses() -> impl Strategy<Value = u32> {
    prop_oneof![any::<u32>(), 0..(2 * MEMORY_BYTES as u32), Just(u32::MAX), Just(i32::MIN as u32)]
}

proptest! {
    #[test]
    fn bytes_are_inside_of_memory_or_refused(pointer in addresses(), length in addresses()) {
        let memory = vec![7; MEMORY_BYTES];

        let bytes = Slice::new(pointer, length).bytes(&memory, "test");

        let fits = u64::from(pointer) + u64::from(length) <= MEMORY_BYTES as u64;
        prop_assert_eq!(bytes.is_ok(), fits);
        prop_assert_eq!(bytes.map_or(0, <[u8]>::len), if fits { length as usize } else { 0 });
    }

    #[test]
    fn text_is_utf8_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..64)) {
        let text = Slice::new(0, bytes.len() as u32).text(&bytes, "test");

        prop_assert_eq!(text.ok(), std::str::from_utf8(&bytes).ok());
    }

    #[test]
    fn metadata_of_any_bytes_is_parsed_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..128)) {
        let parsed = Slice::new(0, bytes.len() as u32).json::<EmitMetadata>(&bytes, "test");

        prop_assert_eq!(parsed.is_ok(), serde_json::from_slice::<EmitMetadata>(&bytes).is_ok());
    }

    #[test]
    fn results_are_written_inside_of_memory_or_refused(area in addresses(), words in prop::collection::vec(any::<u32>(), 0..8)) {
        let mut memory = vec![0; MEMORY_BYTES];

        let written = write_words(&mut memory, ReturnArea(area), &words);

        let fits = u64::from(area) + 4 * words.len() as u64 <= MEMORY_BYTES as u64;
        prop_assert_eq!(written.is_ok(), fits);
        if fits {
            let start = area as usize;
            let read: Vec<u32> = memory[start..start + 4 * words.len()]
                .chunks(4)
                .map(|word| u32::from_le_bytes(word.try_into().unwrap()))
                .collect();
            prop_assert_eq!(read, words);
        }
    }
}

#[test]
fn halves_of_surrogate_pairs_become_replacement_characters() {
    for (json, expected) in [
        (r#""plain""#, r#""plain""#),
        (r#""\ud800""#, r#""\ufffd""#),
        (r#"["\udfff\n","é\udabc"]"#, r#"["\ufffd\n","é\ufffd"]"#),
        (r#""\\ud800""#, r#""\\ud800""#),
        (r#""\u0041\ud7ff""#, r#""\u0041\ud7ff""#),
        (r#""\ud""#, r#""\ud""#),
    ] {
        assert_eq!(replace_surrogates(json), expected);
    }
}

proptest! {
    #[test]
    fn text_with_any_escapes_comes_out_as_json_or_not_at_all(text in r#"[\\ud8fa0"é]{0,24}"#) {
        let json = format!("\"{text}\"");

        let clean = replace_surrogates(&json);

        // What was JSON stays JSON, and all of it can be read as text.
        if serde_json::from_str::<&serde_json::value::RawValue>(&json).is_ok() {
            prop_assert!(serde_json::from_str::<String>(&clean).is_ok(), "{clean}");
        }
    }
}
