//! Made-up code for the bound on nesting: whatever stands between brackets, depth is noticed and width is not.
//! `WELLSPRING_FUZZ` multiplies the cases.

use proptest::prelude::*;
use proptest::test_runner::RngSeed;

use super::{NESTING_LIMIT, check};
use crate::modules::ParseError;

/// What a lexer can be led astray by: brackets that are no code, and slashes that are or are no expressions.
const NOISE: [&str; 16] = [
    "/*[({*/", "/*}*/ ", "//)]}\n", "\n", " ", "\t", "\u{2028}", "\u{feff}", "/**/", "/*\n*/", "// /*\n", "/* // */",
    "//`\n", "/*`${*/", "/*'*/", "//\"\n",
];

/// Expressions that hold one.
const EXPRESSIONS: [(&str, &str); 14] = [
    ("[", "]"),
    ("(", ")"),
    ("({a:", "})"),
    ("f(", ")"),
    ("a[", "]"),
    ("a?.(", ")"),
    ("`${", "}`"),
    ("a`${", "}`"),
    ("(!", ")"),
    ("[...", "]"),
    ("(a,", ")"),
    ("(/[)]/,", ")"),
    ("(a/1,", ")"),
    ("(()=>", ")"),
];

/// Statements that hold one.
const STATEMENTS_THAT_NEST: [(&str, &str); 9] = [
    ("{", "}"),
    ("if(a)", ""),
    ("if(a){}else ", ""),
    ("for(;;)", ""),
    ("while(a)", ""),
    ("try{", "}catch{}"),
    ("switch(a){case 1:", "}"),
    ("function f(){", "}"),
    ("a:{", "}"),
];

type Mix = Vec<((&'static str, &'static str), &'static str)>;

fn mixes(constructs: &'static [(&'static str, &'static str)]) -> impl Strategy<Value = Mix> {
    prop::collection::vec((prop::sample::select(constructs), prop::sample::select(&NOISE[..])), 1..6)
}

/// Statements that end, with brackets in texts, templates and regular expressions.
const STATEMENTS: [&str; 16] = [
    "a=')}]';",
    "a=\"[({\";",
    "a=/[/({]/g;",
    "a=b/c/d;",
    "a=`[({`;",
    "a=`${b}`;",
    "a=`${`${b}`}`;",
    "a=[1,2,3];",
    "f(a,b);",
    "a={b:1};",
    "if(a){b}",
    "a=a++/2;",
    "a=(b)/2;",
    "a=/\\//;",
    "a='\\'';",
    "function f(){return/[)]/}",
];

/// The same cases each time, so that a failure is a change's own; `WELLSPRING_FUZZ_SEED` chooses others.
fn seed() -> RngSeed {
    RngSeed::Fixed(std::env::var("WELLSPRING_FUZZ_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(2))
}

fn cases() -> ProptestConfig {
    let times = std::env::var("WELLSPRING_FUZZ").ok().and_then(|times| times.parse().ok()).unwrap_or(1);
    // A failure prints what it takes to repeat it; nothing is written beside the sources.
    ProptestConfig { cases: 24 * times, failure_persistence: None, rng_seed: seed(), ..ProptestConfig::default() }
}

proptest! {
    #![proptest_config(cases())]

    #[test]
    fn nesting_is_noticed_through_any_mix_of_constructs(
        (kinds, core) in prop_oneof![(mixes(&EXPRESSIONS), Just("a")), (mixes(&STATEMENTS_THAT_NEST), Just(";"))],
    ) {
        let code = |depth: usize| {
            let layers: Vec<_> = kinds.iter().cycle().take(depth).collect();
            let opened: String = layers.iter().map(|((open, _), noise)| format!("{open}{noise}")).collect();
            let closed: String = layers.iter().rev().map(|((_, close), _)| *close).collect();
            format!("{opened}{core}{closed}")
        };

        prop_assert_eq!(check(&code(NESTING_LIMIT + 1)), Err(ParseError::NestingTooDeep));
        // Half of what is counted at the most for one of these is well within.
        prop_assert_eq!(check(&format!("/*{}*/{}", " ".repeat(NESTING_LIMIT), code(NESTING_LIMIT / 8))), Ok(()));
    }

    #[test]
    fn width_is_not_depth(kinds in prop::collection::vec((0..STATEMENTS.len(), 0..NOISE.len()), 1..12)) {
        let lines: String = kinds.iter().map(|(kind, noise)| format!("{}\n{}", STATEMENTS[*kind], NOISE[*noise])).collect();
        let text = lines.repeat(2 * NESTING_LIMIT / lines.len() + 2);

        prop_assert_eq!(check(&text), Ok(()));
    }

    #[test]
    fn any_text_is_read_to_its_end(pieces in prop::collection::vec(prop_oneof![
        4 => prop::sample::select(vec!["/", "`", "${", "}", "{", "(", ")", "[", "]", "'", "\"", "\\", "\n", "*", "*/", "/*", "//", "a", "if", "else", "=>", ";"]).prop_map(str::to_owned),
        1 => any::<char>().prop_map(String::from),
    ], 1..40)) {
        let piece = pieces.concat();
        let text = piece.repeat(NESTING_LIMIT / piece.len() + 2);

        // Whatever the verdict: it comes, without a panic.
        let _ = check(&text);
    }
}
