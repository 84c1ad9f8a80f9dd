//! Text of 0-9, A-Z and a-z, in ASCII order so that encoded numbers of one width sort like the numbers.

const ALPHABET: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/// The last `width` digits of a number.
pub(crate) fn encode(mut number: u128, width: usize) -> String {
    let mut digits = vec![0_u8; width];
    for digit in digits.iter_mut().rev() {
        *digit = (number % 62) as u8;
        number /= 62;
    }
    text_of(&digits)
}

/// A big-endian number of any size as `width` digits; the caller chooses a width that holds it.
pub(crate) fn encode_bytes(bytes: &[u8], width: usize) -> String {
    let mut digits = vec![0_u8; width];
    // Four bytes at a time: every run and every event gets an id.
    for part in bytes.chunks(4) {
        let mut carry = part.iter().fold(0_u64, |number, byte| (number << 8) | u64::from(*byte));
        for digit in digits.iter_mut().rev() {
            carry += u64::from(*digit) << (8 * part.len());
            *digit = (carry % 62) as u8;
            carry /= 62;
        }
    }
    text_of(&digits)
}

/// The number as big-endian bytes; none for a foreign character or a number that does not fit.
pub(crate) fn decode_bytes<const SIZE: usize>(text: &str) -> Option<[u8; SIZE]> {
    let mut bytes = [0_u8; SIZE];
    for character in text.bytes() {
        let mut carry = u32::from(digit_of(character)?);
        for byte in bytes.iter_mut().rev() {
            carry += u32::from(*byte) * 62;
            *byte = (carry & 0xff) as u8;
            carry >>= 8;
        }
        if carry != 0 {
            return None;
        }
    }
    Some(bytes)
}

pub(crate) fn is_base62(text: &str) -> bool {
    text.bytes().all(|character| character.is_ascii_alphanumeric())
}

fn digit_of(character: u8) -> Option<u8> {
    match character {
        b'0'..=b'9' => Some(character - b'0'),
        b'A'..=b'Z' => Some(character - b'A' + 10),
        b'a'..=b'z' => Some(character - b'a' + 36),
        _ => None,
    }
}

fn text_of(digits: &[u8]) -> String {
    digits
        .iter()
        .filter_map(|digit| ALPHABET.get(usize::from(*digit)))
        .map(|character| char::from(*character))
        .collect()
}
