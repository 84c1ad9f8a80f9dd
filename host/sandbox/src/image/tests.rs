//! Properties of encoded snapshots.

use proptest::prelude::*;
use wasmparser::{DataKind, Operator, Parser, Payload};

use super::{CHUNK_BYTES, encode, runs_of_content};
use crate::engine::PAGE_BYTES;

/// What the module would write into its memory.
fn decode(wasm: &[u8]) -> Vec<u8> {
    let mut memory = Vec::new();
    for payload in Parser::new(0).parse_all(wasm) {
        match payload.unwrap() {
            Payload::MemorySection(section) => {
                let pages = section.into_iter().next().unwrap().unwrap().initial as usize;
                memory.resize(pages * PAGE_BYTES, 0);
            }
            Payload::DataSection(section) => {
                for segment in section {
                    let segment = segment.unwrap();
                    let DataKind::Active { offset_expr, .. } = segment.kind else { unreachable!() };
                    let Operator::I32Const { value } = offset_expr.get_operators_reader().read().unwrap() else {
                        unreachable!()
                    };
                    let start = value as u32 as usize;
                    memory[start..start + segment.data.len()].copy_from_slice(segment.data);
                }
            }
            _ => {}
        }
    }
    memory
}

proptest! {
    #[test]
    fn an_image_gives_back_the_memory_it_was_taken_of(
        pages in 1usize..4,
        writes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..40),
    ) {
        let mut memory = vec![0; pages * PAGE_BYTES];
        for (at, byte) in writes {
            let at = at.index(memory.len());
            memory[at] = byte;
        }

        let encoded = encode(&memory);

        prop_assert_eq!(decode(&encoded), memory);
    }
}

#[test]
fn chunks_of_zeros_are_left_out_and_neighbours_joined() {
    let mut memory = vec![0; PAGE_BYTES];
    memory[0] = 1;
    memory[CHUNK_BYTES] = 1;
    memory[5 * CHUNK_BYTES] = 1;

    let runs: Vec<_> = runs_of_content(&memory).into_iter().map(|(start, bytes)| (start, bytes.len())).collect();

    assert_eq!(runs, [(0, 2 * CHUNK_BYTES), (5 * CHUNK_BYTES, CHUNK_BYTES)]);
}
