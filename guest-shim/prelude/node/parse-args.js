'use strict';
// `util.parseArgs`: long and short options, values, positionals.
const { codedError } = internal;
const refuse = (code, message) => codedError(code, message, TypeError);

const store = (values, name, option, value) => {
  if (option?.multiple) (values[name] ??= []).push(value);
  else values[name] = value;
};

return ({ args = internal.process.argv.slice(2), options = {}, strict = true, allowPositionals = !strict } = {}) => {
  const values = Object.create(null);
  const positionals = [];
  const rest = [...args];
  const shortName = (letter) => Object.keys(options).find((name) => options[name].short === letter) ?? letter;
  const take = (name, given, shown) => {
    const option = options[name];
    if (option === undefined && strict) throw refuse('ERR_PARSE_ARGS_UNKNOWN_OPTION', `Unknown option '${shown}'`);
    if (option?.type !== 'string') {
      if (given !== undefined && strict) throw refuse('ERR_PARSE_ARGS_INVALID_OPTION_VALUE', `Option '${shown}' does not take an argument`);
      store(values, name, option, given ?? true);
      return;
    }
    const value = given ?? rest.shift();
    if (value === undefined) throw refuse('ERR_PARSE_ARGS_INVALID_OPTION_VALUE', `Option '${shown} <value>' argument missing`);
    store(values, name, option, value);
  };
  while (rest.length > 0) {
    const arg = rest.shift();
    if (arg === '--') {
      positionals.push(...rest.splice(0));
    } else if (arg.startsWith('--')) {
      const [name, ...given] = arg.slice(2).split('=');
      take(name, given.length > 0 ? given.join('=') : undefined, `--${name}`);
    } else if (arg.startsWith('-') && arg.length > 1) {
      const letters = [...arg.slice(1)];
      while (letters.length > 0) {
        const letter = letters.shift();
        const name = shortName(letter);
        const given = options[name]?.type === 'string' && letters.length > 0 ? letters.splice(0).join('') : undefined;
        take(name, given, `-${letter}`);
      }
    } else {
      if (!allowPositionals) throw refuse('ERR_PARSE_ARGS_UNEXPECTED_POSITIONAL', `Unexpected argument '${arg}'. This command does not take positional arguments`);
      positionals.push(arg);
    }
  }
  for (const [name, option] of Object.entries(options)) if (!(name in values) && option.default !== undefined) values[name] = option.default;
  return { values, positionals };
};
