// Formats, parsers and templates.

//= rss-parser
const Parser = require('rss-parser');
const check = async () => {
  const feed = await new Parser().parseURL('https://feed.test/rss');
  return feed.title === 'News' && feed.items.length === 2 && feed.items[0].isoDate === '2024-01-02T03:04:05.000Z';
};

//= cheerio
const cheerio = require('cheerio');
const check = async () => {
  const $ = cheerio.load('<ul><li class="a">One</li><li>Two &amp; three</li></ul>');
  return $('li').length === 2 && $('.a').text() === 'One' && $('li').last().text() === 'Two & three';
};

//= html-to-text
const { convert } = require('html-to-text');
const check = async () => convert('<h1>Title</h1><p>Hello <a href="https://a.test">link</a></p>').includes('Hello link [https://a.test]');

//= fast-xml-parser
const { XMLParser, XMLBuilder } = require('fast-xml-parser');
const check = async () => {
  const parsed = new XMLParser({ ignoreAttributes: false }).parse('<a b="1"><c>2</c><c>3</c></a>');
  return parsed.a['@_b'] === '1' && parsed.a.c[1] === 3 && new XMLBuilder().build({ x: { y: 1 } }) === '<x><y>1</y></x>';
};

//= xml2js
const { parseStringPromise, Builder } = require('xml2js');
const check = async () => (await parseStringPromise('<a><b x="1">t</b></a>')).a.b[0]._ === 't' && new Builder({ headless: true }).buildObject({ r: { k: 'v' } }).includes('<k>v</k>');

//= he
const he = require('he');
const check = async () => he.decode('caf&eacute; &#x1F600; &lt;') === 'café 😀 <' && he.encode('ü<') === '&#xFC;&#x3C;';

//= qs
const qs = require('qs');
const check = async () => qs.stringify({ a: { b: [1, 2] } }, { encode: false }) === 'a[b][0]=1&a[b][1]=2' && qs.parse('a[b][]=1&a[b][]=2').a.b[1] === '2';

//= query-string
import queryString from 'query-string';
const check = async () => queryString.stringify({ b: 1, a: ['x', 'y'] }) === 'a=x&a=y&b=1' && queryString.parse('?q=a%20b').q === 'a b';

//= js-yaml
const yaml = require('js-yaml');
const check = async () => yaml.load('a:\n  - 1\n  - {b: 2024-01-01}').a[0] === 1 && yaml.dump({ x: [1, 'two'] }) === 'x:\n  - 1\n  - two\n';

//= yaml
const YAML = require('yaml');
const check = async () => YAML.parse('- &a {b: 1}\n- *a')[1].b === 1 && YAML.stringify({ a: 'multi\nline' }).startsWith('a: |-');

//= csv-parse
const { parse } = require('csv-parse/sync');
const { parse: stream } = require('csv-parse');
const check = async () => {
  const rows = parse('a,b\n1,"x, y"\n', { columns: true });
  const streamed = [];
  for await (const row of stream('1,2\n3,4\n')) streamed.push(row);
  return rows[0].b === 'x, y' && streamed[1][1] === '4';
};

//= csv-stringify
const { stringify } = require('csv-stringify/sync');
const check = async () => stringify([['a', 'b "c"'], [1, null]]) === 'a,"b ""c"""\n1,\n';

//= papaparse
const Papa = require('papaparse');
const check = async () => Papa.parse('a,b\n1,2', { header: true, dynamicTyping: true }).data[0].b === 2 && Papa.unparse([{ x: 1, y: 'z' }]) === 'x,y\r\n1,z';

//= marked
const { marked } = require('marked');
const check = async () => marked.parse('# Hi\n\n*x* `y`').includes('<h1>Hi</h1>');

//= markdown-it
const MarkdownIt = require('markdown-it');
const check = async () => new MarkdownIt({ linkify: true }).render('**b** https://a.test') === '<p><strong>b</strong> <a href="https://a.test">https://a.test</a></p>\n';

//= turndown
const Turndown = require('turndown');
const check = async () => new Turndown().turndown('<h1>T</h1><p><b>x</b></p>') === 'T\n=\n\n**x**';

//= sanitize-html
const sanitize = require('sanitize-html');
const check = async () => sanitize('<p onclick="x">a<script>b</script></p>') === '<p>a</p>';

//= handlebars
const Handlebars = require('handlebars');
const check = async () => Handlebars.compile('{{#each items}}{{this}};{{/each}}')({ items: [1, '<'] }) === '1;&lt;;';

//= mustache
const Mustache = require('mustache');
const check = async () => Mustache.render('{{#a}}{{b}}{{/a}}', { a: [{ b: 1 }, { b: 2 }] }) === '12';

//= ejs
const ejs = require('ejs');
const check = async () => ejs.render('<% for (const x of xs) { %><%= x %><% } %>', { xs: [1, '<'] }) === '1&#60;'.replace('&#60;', '&lt;');

//= liquidjs
const { Liquid } = require('liquidjs');
const check = async () => (await new Liquid().parseAndRender('{{ "a b" | upcase }} {% for i in (1..3) %}{{ i }}{% endfor %}')) === 'A B 123';

//= iconv-lite
const iconv = require('iconv-lite');
const check = async () => iconv.decode(Buffer.from([0x82, 0xa0]), 'shift_jis') === 'あ' && iconv.encode('é', 'win1252')[0] === 0xe9;

//= mime-types
const mime = require('mime-types');
const check = async () => mime.lookup('a.pdf') === 'application/pdf' && mime.extension('text/html') === 'html';

//= slugify
const slugify = require('slugify');
const check = async () => slugify('Größe & Maß', { lower: true }) === 'groesse-and-mass' || slugify('Some Title!', { lower: true, strict: true }) === 'some-title';

//= change-case
import * as changeCase from 'change-case';
const check = async () => changeCase.camelCase('foo bar-baz') === 'fooBarBaz' && changeCase.snakeCase('FooBar') === 'foo_bar';

//= mailparser@3.7.2
const { simpleParser } = require('mailparser@3.7.2');
const check = async () => {
  const mail = await simpleParser('From: a@b.test\r\nSubject: =?UTF-8?Q?Gr=C3=BC?=\r\nContent-Type: text/plain; charset=utf-8\r\n\r\nHello\r\n');
  return mail.subject === 'Grü' && mail.from.value[0].address === 'a@b.test' && mail.text.trim() === 'Hello';
};

//= xlsx
const XLSX = require('xlsx');
const check = async () => {
  const book = XLSX.utils.book_new();
  XLSX.utils.book_append_sheet(book, XLSX.utils.json_to_sheet([{ a: 1, b: 'x' }]), 'S');
  const read = XLSX.read(XLSX.write(book, { type: 'buffer', bookType: 'xlsx' }), { type: 'buffer' });
  return XLSX.utils.sheet_to_json(read.Sheets.S)[0].b === 'x';
};

//= jszip
const JSZip = require('jszip');
const check = async () => {
  const zip = new JSZip();
  zip.file('a.txt', 'hello');
  const read = await JSZip.loadAsync(await zip.generateAsync({ type: 'nodebuffer', compression: 'DEFLATE' }));
  return (await read.file('a.txt').async('string')) === 'hello';
};

//= ical-generator
const { default: ical } = require('ical-generator');
const check = async () => ical({ name: 'c', events: [{ start: new Date(0), summary: 'e' }] }).toString().includes('SUMMARY:e');

//= sax
const sax = require('sax');
const check = async () => {
  const names = [];
  const parser = sax.parser(true);
  parser.onopentag = ({ name }) => names.push(name);
  parser.write('<a><b/></a>').close();
  return names.join() === 'a,b';
};
