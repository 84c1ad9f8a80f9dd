//! Text of 0-9, A-Z and a-z, in ASCII order so that encoded numbers of one width sort like the numbers.

const ALPHABET: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
/// The largest number: the secret of a key has 32 bytes.
const MAX_BYTES: usize = 32;
const MAX_LIMBS: usize = MAX_BYTES / 4;
/// Digits that fit in 32 bits.
const GROUP: usize = 5;

/// The last `width` digits of a number.
pub(crate) fn encode(mut number: u128, width: usize) -> String {
    let mut digits = vec![0_u8; width];
    for digit in digits.iter_mut().rev() {
        *digit = (number % 62) as u8;
        number /= 62;
    }
    text_of(&digits)
}

/// A big-endian number of at most [`MAX_BYTES`] as `width` digits; the caller chooses a width that holds it.
pub(crate) fn encode_bytes(bytes: &[u8], width: usize) -> String {
    let mut limbs = [0_u32; MAX_LIMBS];
    for (limb, part) in limbs.iter_mut().rev().zip(bytes.rchunks(4)) {
        *limb = part.iter().fold(0, |number, byte| (number << 8) | u32::from(*byte));
    }
    let mut digits = vec![0_u8; width];
    // Five digits for each division of the whole number: every run and every event gets an id.
    for group in digits.rchunks_mut(GROUP) {
        let mut rest = divide(&mut limbs, 62_u32.pow(GROUP as u32));
        for digit in group.iter_mut().rev() {
            *digit = (rest % 62) as u8;
            rest /= 62;
        }
    }
    text_of(&digits)
}

/// The number as big-endian bytes; none for a foreign character or a number that does not fit.
pub(crate) fn decode_bytes<const SIZE: usize>(text: &str) -> Option<[u8; SIZE]> {
    let mut limbs = [0_u32; MAX_LIMBS];
    for group in text.as_bytes().chunks(GROUP) {
        let (mut factor, mut part) = (1_u64, 0_u64);
        for character in group {
            factor *= 62;
            part = part * 62 + u64::from(digit_of(*character)?);
        }
        if multiply(&mut limbs, factor, part) != 0 {
            return None;
        }
    }
    let mut all = limbs.iter().rev().flat_map(|limb| limb.to_le_bytes());
    let mut bytes = [0_u8; SIZE];
    for byte in bytes.iter_mut().rev() {
        *byte = all.next()?;
    }
    all.all(|byte| byte == 0).then_some(bytes)
}

/// Divides a big-endian number and returns the remainder.
fn divide(limbs: &mut [u32], by: u32) -> u32 {
    let mut rest = 0_u64;
    for limb in limbs {
        let part = (rest << 32) | u64::from(*limb);
        *limb = (part / u64::from(by)) as u32;
        rest = part % u64::from(by);
    }
    rest as u32
}

/// Multiplies a big-endian number, adds to it and returns what does not fit.
fn multiply(limbs: &mut [u32], by: u64, add: u64) -> u64 {
    let mut carry = add;
    for limb in limbs.iter_mut().rev() {
        carry += u64::from(*limb) * by;
        *limb = carry as u32;
        carry >>= 32;
    }
    carry
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
