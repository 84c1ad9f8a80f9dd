//! Modules made up at random, compared with Node.
//!
//! Each imports only from later ones, so that there are no circles: their one known difference is
//! described in `lower.rs`.

use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use proptest::{prelude::*, sample::select, strategy::ValueTree};

const MODULES: usize = 4;

/// How module `N` exports its default, and what its other exports are.
const DEFAULTS: [&str; 8] = [
    "export default function () { return 'dN' }",
    "export default function namedN() { return namedN.name }",
    "export default class { m() { return 'dN' } }",
    "export default class OwnN {}",
    "export default () => 'dN'",
    "export default { value: 'dN', xN }",
    "export { xN as default }",
    "export default xN, console.log('comma')",
];

const EXPORTS: [&str; 7] = [
    "export let xN = 'xN'; export const setN = (value) => { xN = value }",
    "let xN = 'xN'\nfunction setN(value) { xN = value }\nexport { xN, setN }",
    "export var xN = 'xN'\nexport function setN(value) { return xN = value }",
    "export { xN, inner as setN }\nlet xN = 'xN', inner = (value) => (xN = value)",
    "export let [xN, ...restN] = ['xN', 1]\nexport async function asyncN() {}\nexport const setN = function (value) { xN = value }",
    "export let { xN = 'xN', ...othersN } = {}\nexport function* setN(value) { xN = value; yield value }",
    "export class KN { static s = 'k' }\nexport let xN = KN.s\nexport const setN = value => void (xN = value)",
];

/// Where `x` is imported from module `N` as `iN`, and so on.
const IMPORTS: [&str; 6] = [
    "import dN, { xN as iN, setN } from './mN.mjs'",
    "import { xN as iN, setN, default as dN } from './mN.mjs'",
    "import * as nN from './mN.mjs'\nimport { xN as iN, setN } from './mN.mjs'; import dN from './mN.mjs'",
    "import dN, * as nN from './mN.mjs'\nimport { setN } from './mN.mjs'\nimport { xN as iN } from './mN.mjs'",
    "import dN, { xN as iN, setN } from './mN.mjs'\nexport * from './mN.mjs'",
    "import dN, { xN as iN, setN } from './mN.mjs'\nexport { iN as viaN, setN as passedN }\nexport * as allN from './mN.mjs'",
];

const USES: [&str; 20] = [
    "console.log(iN, typeof dN)",
    "setN('changed')\nconsole.log(iN)",
    "const a = iN\nsetN(a + '!')",
    "[iN].map((item) => console.log(item))",
    "const o = { iN, dN, setN, [iN]: iN, m() { return iN } }; console.log(o.iN, o.m(), Object.keys(o).length)",
    "const f = (iN) => iN; console.log(f(1), iN)",
    "{ let iN = 'inner'; console.log(iN) }",
    "if (iN) setN('if')\nelse setN('else')",
    "console.log(`${iN} ${typeof setN} ${iN?.length}`)",
    "const { length = iN } = {}; console.log(length)",
    "try { console.log(new dN().constructor.name) } catch (error) { console.log(error.name) }",
    "try { iN = 1 } catch (error) { console.log(error instanceof Error) }",
    "class L extends (typeof dN === 'function' && dN.prototype ? dN : Object) { static v = iN; w = iN } console.log(L.v)",
    "for (const c of iN) { setN(c); break }",
    "console.log([...iN].length, iN in { [iN]: 1 }, !iN, iN ? 1 : 2)",
    "let y = iN\n;(setN)('parens')\nconsole.log(y, iN)",
    "switch (iN) { case iN: setN('case'); default: console.log(iN) }",
    "console.log((() => iN)(), function () { return this === undefined && iN }())",
    "typeof dN === 'function' && console.log(dN.name)",
    "label: { if (iN) break label; setN('never') }",
];

fn module(number: usize) -> impl Strategy<Value = String> {
    let later: Vec<usize> = (number + 1..MODULES).collect();
    let imports = later
        .into_iter()
        .map(|other| (select(&IMPORTS), prop::collection::vec(select(&USES), 1..6), Just(other)))
        .collect::<Vec<_>>();
    (imports, select(&EXPORTS), select(&DEFAULTS), any::<bool>()).prop_map(
        move |(imports, exports, default, imports_last)| {
            let fill = |text: &str, number: usize| text.replace('N', &number.to_string());
            let heads: Vec<String> = imports.iter().map(|(text, _, other)| fill(text, *other)).collect();
            let uses = imports.iter().flat_map(|(_, uses, other)| {
                uses.iter().map(|text| format!("(() => {{ {}\n }})()", fill(text, *other)))
            });
            let uses: Vec<String> = uses.collect();
            let own =
                format!("{}\n{}", fill(exports, number), fill(default, number).replace(", console.log('comma')", ""));
            let body =
                format!("{own}\n;{}\nconsole.log('mN')\n", uses.join("\n;")).replace("mN", &format!("m{number}"));
            if imports_last { format!("{body}{}\n", heads.join("\n")) } else { format!("{}\n{body}", heads.join("\n")) }
        },
    )
}

#[tokio::test]
async fn made_up_modules_print_what_they_print_under_node() {
    let mut runner = TestRunner::new_with_rng(Config::default(), TestRng::from_seed(RngAlgorithm::ChaCha, &[7; 32]));
    let strategy = (0..MODULES).map(|number| module(number).boxed()).collect::<Vec<_>>();
    for _ in 0..40 {
        let modules = strategy.new_tree(&mut runner).unwrap().current();
        let tail = "\nimport * as all from './m0.mjs'\nconst seen = (ns) => Object.keys(ns).map((name) => `${name}:${typeof ns[name]}`).join()\nconsole.log(seen(all))\n";
        let entry = format!("import './m0.mjs'{tail}");
        let names: Vec<String> = (0..MODULES).map(|number| format!("m{number}.mjs")).collect();
        let mut files = vec![("entry.mjs", entry.as_str())];
        files.extend(names.iter().zip(&modules).map(|(name, text)| (name.as_str(), text.as_str())));
        super::check(&files).await;
    }
}
