'use strict';
// `dns`: names are resolved by the host when it performs a request. Addresses and localhost are answered here.
const { systemError, requireFunction } = internal.nodeErrors;
const isIP = (name) => internal.lazy('node/ip').isIP(name);

const lookupNow = (hostname) => {
  const family = isIP(hostname);
  if (family) return { address: hostname, family };
  if (hostname === 'localhost') return { address: '127.0.0.1', family: 4 };
  const error = systemError('ENOTFOUND', -3008, 'dns.lookup is not available in a Wellspring component: use fetch or http', 'getaddrinfo');
  throw Object.assign(error, { hostname });
};

const lookup = (hostname, options, callback) => {
  const done = requireFunction(typeof options === 'function' ? options : callback, 'callback');
  const isAll = typeof options === 'object' && options?.all;
  internal.process.nextTick(() => {
    let found;
    try {
      found = lookupNow(hostname);
    } catch (error) {
      done(error);
      return;
    }
    if (isAll) done(null, [found]);
    else done(null, found.address, found.family);
  });
};
lookup[Symbol.for('nodejs.util.promisify.custom')] = async (hostname, options) => (options?.all ? [lookupNow(hostname)] : lookupNow(hostname));

const NAMES = ['resolve', 'resolve4', 'resolve6', 'resolveAny', 'resolveCname', 'resolveMx', 'resolveNs', 'resolveTxt', 'resolveSrv', 'resolvePtr', 'resolveSoa', 'reverse', 'lookupService'];
const refused = (prefix) => Object.fromEntries(NAMES.map((name) => [name, internal.unavailable(`${prefix}.${name}`, 'use fetch or http')]));
const settings = { getServers: () => [], setServers() {}, setDefaultResultOrder() {}, getDefaultResultOrder: () => 'verbatim' };
const makeResolver = (prefix) => class Resolver {
  constructor() { Object.assign(this, refused(prefix), settings); }
  cancel() {}
};
const CODES = { NODATA: 'ENODATA', FORMERR: 'EFORMERR', SERVFAIL: 'ESERVFAIL', NOTFOUND: 'ENOTFOUND', NOTIMP: 'ENOTIMP', REFUSED: 'EREFUSED', BADNAME: 'EBADNAME', TIMEOUT: 'ETIMEOUT', CONNREFUSED: 'ECONNREFUSED', CANCELLED: 'ECANCELLED', ADDRCONFIG: 32, V4MAPPED: 8, ALL: 16 };

return {
  lookup,
  ...refused('dns'),
  ...settings,
  ...CODES,
  Resolver: makeResolver('dns.Resolver'),
  promises: { lookup: lookup[Symbol.for('nodejs.util.promisify.custom')], ...refused('dns.promises'), ...settings, ...CODES, Resolver: makeResolver('dns.promises.Resolver') },
};
