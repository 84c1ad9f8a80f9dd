//! The bound on nesting, and that what it lets through fits the stack.

use super::{NESTING_LIMIT, check};
use crate::modules::{Decorators, Format, Options, ParseError, parse::parse, stack};

/// Source whose nesting the parser sees as `depth` times `open`, with `close` for each.
fn nested(open: &str, core: &str, close: &str, depth: usize) -> String {
    // The padding makes it long enough to be looked at.
    format!("/*{}*/{}{core}{}", " ".repeat(NESTING_LIMIT), open.repeat(depth), close.repeat(depth))
}

const OPTIONS: Options<'static> = Options {
    path: "/component/a.js",
    format: Format::Open,
    is_typescript: false,
    decorators: Decorators::NONE,
    is_own: true,
    lowers: true,
    imports_async: false,
};

/// Constructs that make a tree deeper, of every kind.
const CONSTRUCTS: [(&str, &str, &str); 37] = [
    ("if(a)a,a;else ", "a", ""),
    ("if(a)a\nelse ", "a", ""),
    ("if(a)for(;;){}else ", "a", ""),
    ("[", "", "]"),
    ("(", "a", ")"),
    ("({a:", "a", "})"),
    ("{", "", "}"),
    ("f(", "", ")"),
    ("!", "a", ""),
    ("- ", "a", ""),
    ("typeof ", "a", ""),
    ("new ", "a", ""),
    ("a=", "a", ""),
    ("a=>", "a", ""),
    ("(a)=>{", "", "}"),
    ("a=function(){", "", "}"),
    ("a?a:", "a", ""),
    ("a**", "a", ""),
    ("a+", "a", ""),
    ("a||", "a", ""),
    ("if(a)", "a", ""),
    ("if(a){}else ", "a", ""),
    ("for(;;)", "a", ""),
    ("while(a)", "a", ""),
    ("do ", "a", " \nwhile(a)"),
    ("try{", "", "}catch{}"),
    ("switch(a){case 1:", "", "}"),
    ("`${", "a", "}`"),
    ("a`${", "a", "}`"),
    ("class a{b(){", "", "}}"),
    ("(class extends ", "a", "{})"),
    ("a[", "a", "]"),
    ("a", ".a", ""),
    ("a(", "", ")"),
    ("async()=>await ", "a", ""),
    ("var{a=", "1", "}=a"),
    ("[a=", "1", "]=a"),
];

#[test]
fn more_than_the_limit_is_refused() {
    for (open, core, close) in CONSTRUCTS {
        let source = nested(open, core, close, NESTING_LIMIT + 1);
        let is_chain = open == "a" && core == ".a";

        if !is_chain {
            assert_eq!(check(&source), Err(ParseError::NestingTooDeep), "{open}");
        }
    }
}

#[test]
fn member_and_call_chains_count_too() {
    for link in [".a", "()", "[0]", "`x`", "?.a", "+a", ".a()"] {
        let chain = format!("{}a{}", " ".repeat(NESTING_LIMIT), link.repeat(NESTING_LIMIT + 1));
        assert_eq!(check(&chain), Err(ParseError::NestingTooDeep), "{link}");
    }
}

#[test]
fn siblings_do_not_count() {
    for sibling in [
        "a();",
        "a,",
        "f(a+b);\n",
        "if(a){}\n",
        "if(a){}else{}",
        "function a(){}",
        "a = 1\n",
        "const b = a\n",
        "{a:1},",
        "x={}\n",
        "case 1:a;",
    ] {
        let source = format!("[{}", sibling.repeat(NESTING_LIMIT + 1));
        assert_eq!(check(&source), Ok(()), "{sibling}");
    }
}

#[test]
fn brackets_in_texts_and_expressions_neither_hide_nor_add() {
    let deep = "[".repeat(NESTING_LIMIT + 1);
    let closers = "]".repeat(10);
    let hidden = [
        format!("/\"/;{deep}"),
        format!("a=/[/\"]/;{deep}"),
        format!("if(a)/\"/.b;{deep}"),
        format!("(a)/1;'/\"';{deep}"),
        format!("}}/'/.x;{deep}"),
        format!("a++/1;{deep}//"),
        format!("return/\"/;{deep}"),
        format!("[...typeof/\"/,{deep}"),
        format!("for await(a of b)/\"/;{deep}"),
        format!("a.if(b)/1;'\"/';{deep}"),
        format!("while(a)/\"/.b;{deep}"),
        format!("'\\'{closers}';{deep}"),
        format!("`${{`]]]]`}}]]]`;{deep}"),
        format!("// {closers}\u{2028}{deep}"),
        format!("<!-- {closers}\n{deep}"),
        format!("a\n--> {closers}\n{deep}"),
        format!("/*{closers}*/{deep}"),
    ];
    for source in hidden {
        assert_eq!(check(&source), Err(ParseError::NestingTooDeep), "{}", &source[..20]);
    }
    let shown = [
        format!("a='{deep}'"),
        format!("a=`{deep}`"),
        format!("//{deep}\na"),
        format!("/*{deep}*/"),
        format!("a=/{}/\n", "\\(".repeat(NESTING_LIMIT)),
        "a=[(1)/2,'(',/[(]/,`(`]\n".repeat(NESTING_LIMIT),
    ];
    for source in shown {
        assert_eq!(check(&source), Ok(()), "{}", &source[..20]);
    }
}

#[test]
fn minified_code_is_read_once() {
    let minified = "a=(b)/c,d=/[/]e/g.test(f)?1:2;".repeat(20_000);

    assert_eq!(check(&minified), Ok(()));
}

#[test]
fn what_would_take_long_to_read_is_refused() {
    assert_eq!(check(&")/[".repeat(20_000)), Err(ParseError::NestingTooDeep));
}

#[test]
fn short_files_need_no_check() {
    assert_eq!(check(&"[".repeat(NESTING_LIMIT)), Ok(()));
}

/// Would end the whole process if it did not fit.
#[tokio::test]
async fn the_deepest_code_that_passes_fits_the_stack() {
    for (open, core, close) in CONSTRUCTS {
        let (mut low, mut high) = (1, NESTING_LIMIT + 1);
        while low + 1 < high {
            let middle = low.midpoint(high);
            if check(&nested(open, core, close, middle)).is_ok() { low = middle } else { high = middle }
        }
        let source = nested(open, core, close, low);
        for (source, is_typescript) in
            [(source.clone(), false), (source.clone(), true), (format!("export default 1;{source}"), false)]
        {
            let result =
                stack::run(move || parse(&source, &Options { is_typescript, ..OPTIONS }).map(drop)).await.unwrap();
            assert_ne!(result, Err(ParseError::NestingTooDeep), "{open}");
        }
    }
}

#[tokio::test]
async fn sixty_thousand_brackets_are_an_error_and_not_a_crash() {
    for source in ["[".repeat(60_000), "(".repeat(60_000), "{".repeat(60_000), "[".repeat(60_000) + &"]".repeat(60_000)]
    {
        let result = stack::run(move || parse(&source, &OPTIONS).map(drop)).await.unwrap();
        assert_eq!(result, Err(ParseError::NestingTooDeep));
    }
}

/// Short pieces, repeated: whatever passes the check must pass the parser without a crash.
#[tokio::test]
async fn no_repetition_of_tokens_gets_through_too_deep() {
    const TOKENS: [&str; 48] = [
        "a",
        "1",
        "'t'",
        "`t`",
        "/r/",
        "(",
        ")",
        "[",
        "]",
        "{",
        "}",
        ";",
        ",",
        ":",
        "?",
        ".",
        "=",
        "=>",
        "+",
        "!",
        "-",
        "**",
        "??",
        "\n",
        " ",
        "if(a)",
        "else ",
        "do ",
        "while(a)",
        "for(;;)",
        "new ",
        "typeof ",
        "await ",
        "yield ",
        "async ",
        "function ",
        "class ",
        "extends ",
        "return ",
        "a=>",
        "${",
        "`",
        "as ",
        "<",
        ">",
        "in ",
        "let ",
        "...",
    ];
    let mut state = 0x9e37_79b9_u64;
    let mut next = move |bound: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        usize::try_from(state % bound as u64).unwrap()
    };
    for _ in 0..100 {
        let piece: String = (0..=next(6)).map(|_| TOKENS[next(TOKENS.len())]).collect();
        let source = piece.repeat(30_000);
        if check(&source).is_err() {
            continue;
        }
        for is_typescript in [false, true] {
            let (source, piece) = (source.clone(), piece.clone());
            let run = move || (piece, parse(&source, &Options { is_typescript, ..OPTIONS }).map(drop));
            let (piece, result) = stack::run(run).await.unwrap();
            assert_ne!(result, Err(ParseError::NestingTooDeep), "{piece}");
        }
    }
}

#[test]
fn every_white_space_of_javascript_is_one() {
    let spaces =
        ['\u{a0}', '\u{1680}', '\u{2000}', '\u{200a}', '\u{2028}', '\u{202f}', '\u{205f}', '\u{3000}', '\u{feff}'];
    for space in spaces {
        for deep in [format!("if(a){space}"), format!("if{space}(a)"), format!("if(a){{}}else{space}")] {
            assert_eq!(check(&(deep.repeat(NESTING_LIMIT + 1) + ";")), Err(ParseError::NestingTooDeep), "{deep:?}");
        }
    }
}
