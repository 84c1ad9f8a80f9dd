//! Entries in one row: those that a transaction appends to a stream are a block, because most of what a short entry costs
//! is a row of its own.
//!
//! The row has the id of the newest entry in it, so the entries from an id on are in the rows from that id on. An entry alone is a
//! row without `members`.

use rusqlite::types::Type;

use crate::EntryId;

/// An entry is read with all of its block.
const MAXIMUM_BYTES: usize = 16 << 10;
const MAXIMUM_ENTRIES: usize = 64;

/// What will be a row.
#[derive(Debug, Default)]
pub(super) struct Block {
    /// Of the newest entry.
    id: i64,
    entries: usize,
    /// For each entry how far its id is from the one before it, and how long its value is.
    members: Vec<u8>,
    values: Vec<u8>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Member {
    pub(crate) id: i64,
    /// Where its value begins and ends; all of it in a row of one.
    place: Option<(usize, usize)>,
}

#[derive(Debug, thiserror::Error)]
#[error("a block of entries is damaged")]
struct Damaged;

// === impl Block ===

impl Block {
    pub(super) fn is_empty(&self) -> bool {
        self.entries == 0
    }

    pub(super) fn has_room(&self, value: &[u8]) -> bool {
        self.is_empty() || self.entries < MAXIMUM_ENTRIES && self.values.len() + value.len() <= MAXIMUM_BYTES
    }

    /// Ids increase.
    pub(super) fn push(&mut self, id: i64, value: &[u8]) {
        push_number(&mut self.members, id.abs_diff(self.id));
        push_number(&mut self.members, value.len() as u64);
        self.values.extend_from_slice(value);
        self.id = id;
        self.entries += 1;
    }

    /// The columns `id`, `members` and `value`.
    pub(super) fn columns(&self) -> (i64, Option<&[u8]>, &[u8]) {
        (self.id, (self.entries > 1).then_some(&self.members), &self.values)
    }
}

// === impl Member ===

impl Member {
    pub(crate) fn entry_id(self) -> EntryId {
        EntryId::unpacked(self.id)
    }

    pub(crate) fn value(self, values: &[u8]) -> Result<&[u8], rusqlite::Error> {
        self.place.map_or(Some(values), |(from, to)| values.get(from..to)).ok_or_else(damaged)
    }
}

/// What a row with this id has in it, the oldest first.
pub(crate) fn members(id: i64, members: Option<&[u8]>) -> Result<Vec<Member>, rusqlite::Error> {
    let Some(mut rest) = members else { return Ok(vec![Member { id, place: None }]) };
    let (mut found, mut last, mut end) = (Vec::new(), 0_i64, 0_usize);
    while !rest.is_empty() {
        let (distance, length) = take_number(&mut rest).zip(take_number(&mut rest)).ok_or_else(damaged)?;
        last = last.checked_add_unsigned(distance).ok_or_else(damaged)?;
        let from = end;
        end = usize::try_from(length).ok().and_then(|length| from.checked_add(length)).ok_or_else(damaged)?;
        found.push(Member { id: last, place: Some((from, end)) });
    }
    if last == id { Ok(found) } else { Err(damaged()) }
}

fn damaged() -> rusqlite::Error {
    rusqlite::Error::FromSqlConversionFailure(0, Type::Blob, Box::new(Damaged))
}

/// Seven bits in each byte, the lowest first; all but the last have the eighth.
fn push_number(bytes: &mut Vec<u8>, mut number: u64) {
    while number > 0x7f {
        bytes.push((number & 0x7f) as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

fn take_number(bytes: &mut &[u8]) -> Option<u64> {
    let mut number = 0;
    for shift in (0..u64::BITS).step_by(7) {
        let (byte, rest) = bytes.split_first()?;
        *bytes = rest;
        number |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Some(number);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{Block, MAXIMUM_BYTES, MAXIMUM_ENTRIES, members};

    proptest! {
        #[test]
        fn what_is_pushed_is_found_again(
            first in 1..i64::MAX >> 1,
            entries in prop::collection::vec((1..i64::MAX >> 8, prop::collection::vec(any::<u8>(), 0..300)), 1..9),
        ) {
            let (mut block, mut id, mut expected) = (Block::default(), first, Vec::new());
            for (distance, value) in &entries {
                id += distance;
                block.push(id, value);
                expected.push((id, value.as_slice()));
            }

            let (row, encoded, values) = block.columns();
            let found = members(row, encoded).unwrap();
            let found: Vec<_> = found.iter().map(|member| (member.id, member.value(values).unwrap())).collect();

            prop_assert_eq!(row, id);
            prop_assert_eq!(encoded.is_none(), entries.len() == 1);
            prop_assert_eq!(found, expected);
        }

        #[test]
        fn damaged_rows_are_an_error_and_no_end_of_the_program(
            id: i64, encoded in prop::collection::vec(any::<u8>(), 0..40), values in prop::collection::vec(any::<u8>(), 0..9),
        ) {
            for member in members(id, Some(&encoded)).into_iter().flatten() {
                let _ = member.value(&values);
            }
        }
    }

    #[test]
    fn a_block_is_bounded_and_a_long_entry_has_a_row_of_its_own() {
        let mut block = Block::default();
        assert!(block.has_room(&[0; MAXIMUM_BYTES + 1]));
        block.push(1, b"1");
        assert!(block.has_room(&[0; MAXIMUM_BYTES - 1]) && !block.has_room(&[0; MAXIMUM_BYTES]));
        for id in 2..MAXIMUM_ENTRIES as i64 {
            block.push(id, b"");
        }
        assert!(block.has_room(b""));
        block.push(MAXIMUM_ENTRIES as i64, b"");
        assert!(!block.has_room(b""));
    }

    #[test]
    fn a_row_that_does_not_end_with_its_own_id_is_damaged() {
        let mut block = Block::default();
        block.push(7, b"a");
        block.push(9, b"b");
        let (id, encoded, values) = block.columns();

        assert!(members(id, encoded).is_ok() && members(id + 1, encoded).is_err());
        let last = members(id, encoded).unwrap().pop().unwrap();
        assert!(last.value(values).is_ok() && last.value(b"").is_err());
    }
}
