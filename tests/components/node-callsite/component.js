module.exports = {
  name: 'Call sites have the methods that depd uses',
  version: '0.0.1',
  type: 'action',
  async run() {
    const prepare = Error.prepareStackTrace;
    function inner() {
      const holder = {};
      Error.captureStackTrace(holder);
      return holder.stack;
    }
    Error.prepareStackTrace = (error, sites) => sites;
    const sites = inner();
    Error.prepareStackTrace = prepare;
    const site = sites[0];
    const methods = ['getFileName', 'getLineNumber', 'getColumnNumber', 'getFunctionName', 'getFunction', 'getTypeName', 'getMethodName', 'getThis', 'getEvalOrigin', 'isNative', 'isToplevel', 'isEval', 'isConstructor', 'toString'];
    return { name: site.getFunctionName(), line: typeof site.getLineNumber(), file: site.getFileName(), methods: methods.filter((name) => typeof site[name] !== 'function') };
  },
};
