//! JSON Web Keys, as objects whose numbers are base64url text.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD as BASE64;
use p256::elliptic_curve::generic_array::typenum::Unsigned;
use p256::elliptic_curve::sec1::{EncodedPoint, FromEncodedPoint, ModulusSize, ToEncodedPoint};
use p256::elliptic_curve::{self, AffinePoint, CurveArithmetic, FieldBytesSize};
use rquickjs::prelude::Func;
use rquickjs::{Array, Ctx, Object, Result};
use rsa::BigUint;
use rsa::traits::{PrivateKeyParts, PublicKeyParts};

use super::{Key, PrivateKey, PublicKey, describe};
use crate::natives::failure::{Bytes, Failure, Outcome, attempt, slice};

const BAD_JWK: Failure = Failure { code: "ERR_CRYPTO_INVALID_JWK", message: "Invalid JWK data" };

/// Names and values of a JWK's members.
type Members = Vec<(&'static str, String)>;

pub(super) fn add(host: &Object<'_>) -> Result<()> {
    host.set("keyToJwk", Func::from(key_to_jwk))?;
    host.set("keyFromJwk", Func::from(key_from_jwk))
}

fn key_to_jwk<'js>(ctx: Ctx<'js>, key: Bytes<'js>) -> Result<Object<'js>> {
    let key = attempt(&ctx, Key::parse(slice(&key)))?;
    let jwk = Object::new(ctx)?;
    for (name, value) in members(&key) {
        jwk.set(name, value)?;
    }
    Ok(jwk)
}

/// As `keyParse` describes a key.
fn key_from_jwk<'js>(ctx: Ctx<'js>, jwk: Object<'js>) -> Result<Array<'js>> {
    let read = |name: &str| jwk.get::<_, Option<String>>(name).ok().flatten();
    let key = attempt(&ctx, parse(&read))?;
    describe(ctx, &key)
}

fn parse(read: &dyn Fn(&str) -> Option<String>) -> Outcome<Key> {
    let bytes = |name: &str| BASE64.decode(read(name).ok_or(BAD_JWK)?.trim_end_matches('=')).map_err(|_| BAD_JWK);
    let is_private = read("d").is_some();
    match (read("kty").as_deref(), read("crv").as_deref()) {
        (Some("RSA"), _) => parse_rsa(&|name| bytes(name).map(|digits| BigUint::from_bytes_be(&digits)), is_private),
        (Some("OKP"), Some("Ed25519")) if is_private => {
            let seed = bytes("d")?.try_into().map_err(|_| BAD_JWK)?;
            Ok(Key::Private(PrivateKey::Ed25519(Box::new(ed25519_dalek::SigningKey::from_bytes(&seed)))))
        }
        (Some("OKP"), Some("Ed25519")) => {
            let point = bytes("x")?.try_into().map_err(|_| BAD_JWK)?;
            let key = ed25519_dalek::VerifyingKey::from_bytes(&point).map_err(|_| BAD_JWK)?;
            Ok(Key::Public(PublicKey::Ed25519(key)))
        }
        (Some("EC"), Some("P-256")) if is_private => p256::SecretKey::from_slice(&bytes("d")?)
            .map(|key| Key::Private(PrivateKey::P256(key)))
            .map_err(|_| BAD_JWK),
        (Some("EC"), Some("P-384")) if is_private => p384::SecretKey::from_slice(&bytes("d")?)
            .map(|key| Key::Private(PrivateKey::P384(key)))
            .map_err(|_| BAD_JWK),
        (Some("EC"), Some("P-521")) if is_private => p521::SecretKey::from_slice(&bytes("d")?)
            .map(|key| Key::Private(PrivateKey::P521(key)))
            .map_err(|_| BAD_JWK),
        (Some("EC"), Some("P-256")) => parse_point(&bytes("x")?, &bytes("y")?).map(PublicKey::P256).map(Key::Public),
        (Some("EC"), Some("P-384")) => parse_point(&bytes("x")?, &bytes("y")?).map(PublicKey::P384).map(Key::Public),
        (Some("EC"), Some("P-521")) => parse_point(&bytes("x")?, &bytes("y")?).map(PublicKey::P521).map(Key::Public),
        (Some("OKP"), Some("X25519")) => {
            let number: [u8; 32] = bytes(if is_private { "d" } else { "x" })?.try_into().map_err(|_| BAD_JWK)?;
            Ok(if is_private {
                Key::Private(PrivateKey::X25519(number.into()))
            } else {
                Key::Public(PublicKey::X25519(number.into()))
            })
        }
        _ => Err(BAD_JWK),
    }
}

fn parse_rsa(number: &dyn Fn(&str) -> Outcome<BigUint>, is_private: bool) -> Outcome<Key> {
    if !is_private {
        let key = rsa::RsaPublicKey::new(number("n")?, number("e")?).map_err(|_| BAD_JWK)?;
        return Ok(Key::Public(PublicKey::Rsa(key)));
    }
    let primes = vec![number("p")?, number("q")?];
    let mut key =
        rsa::RsaPrivateKey::from_components(number("n")?, number("e")?, number("d")?, primes).map_err(|_| BAD_JWK)?;
    key.precompute().map_err(|_| BAD_JWK)?;
    Ok(Key::Private(PrivateKey::Rsa(Box::new(key))))
}

fn parse_point<C>(x: &[u8], y: &[u8]) -> Outcome<elliptic_curve::PublicKey<C>>
where
    C: CurveArithmetic,
    AffinePoint<C>: FromEncodedPoint<C> + ToEncodedPoint<C>,
    FieldBytesSize<C>: ModulusSize,
{
    let size = FieldBytesSize::<C>::to_usize();
    if x.len() != size || y.len() != size {
        return Err(BAD_JWK);
    }
    let point = EncodedPoint::<C>::from_affine_coordinates(x.into(), y.into(), false);
    Option::from(elliptic_curve::PublicKey::<C>::from_encoded_point(&point)).ok_or(BAD_JWK)
}

fn members(key: &Key) -> Members {
    match key {
        Key::Public(key) => public_members(key),
        Key::Private(key) => {
            let mut members = public_members(&key.to_public());
            members.extend(private_members(key));
            members
        }
    }
}

fn public_members(key: &PublicKey) -> Members {
    match key {
        PublicKey::Rsa(key) => vec![("kty", "RSA".into()), ("n", text(key.n())), ("e", text(key.e()))],
        PublicKey::P256(key) => curve_members("P-256", key),
        PublicKey::P384(key) => curve_members("P-384", key),
        PublicKey::P521(key) => curve_members("P-521", key),
        PublicKey::Ed25519(key) => okp_members("Ed25519", key.as_bytes()),
        PublicKey::X25519(key) => okp_members("X25519", key.as_bytes()),
    }
}

fn curve_members<C>(curve: &str, key: &elliptic_curve::PublicKey<C>) -> Members
where
    C: CurveArithmetic,
    AffinePoint<C>: FromEncodedPoint<C> + ToEncodedPoint<C>,
    FieldBytesSize<C>: ModulusSize,
{
    let point = key.to_encoded_point(false);
    let x = point.x().map(|x| BASE64.encode(x)).unwrap_or_default();
    let y = point.y().map(|y| BASE64.encode(y)).unwrap_or_default();
    // In the order in which Node writes them.
    vec![("kty", "EC".into()), ("x", x), ("y", y), ("crv", curve.into())]
}

fn okp_members(curve: &str, point: &[u8]) -> Members {
    vec![("kty", "OKP".into()), ("crv", curve.into()), ("x", BASE64.encode(point))]
}

fn private_members(key: &PrivateKey) -> Members {
    match key {
        PrivateKey::P256(key) => vec![("d", BASE64.encode(key.to_bytes()))],
        PrivateKey::P384(key) => vec![("d", BASE64.encode(key.to_bytes()))],
        PrivateKey::P521(key) => vec![("d", BASE64.encode(key.to_bytes()))],
        PrivateKey::Ed25519(key) => vec![("d", BASE64.encode(key.to_bytes()))],
        PrivateKey::X25519(key) => vec![("d", BASE64.encode(key.as_bytes()))],
        PrivateKey::Rsa(key) => rsa_members(key),
    }
}

fn rsa_members(key: &rsa::RsaPrivateKey) -> Members {
    let mut members = vec![("d", text(key.d()))];
    if let [p, q, ..] = key.primes() {
        let one = BigUint::from(1u8);
        members.extend([("p", text(p)), ("q", text(q))]);
        members.extend([("dp", text(&(key.d() % (p - &one)))), ("dq", text(&(key.d() % (q - &one))))]);
        if let Some(inverse) = key.crt_coefficient() {
            members.push(("qi", text(&inverse)));
        }
    }
    members
}

fn text(number: &BigUint) -> String {
    BASE64.encode(number.to_bytes_be())
}
