module.exports = { name: 'A hook that is not there does nothing', version: '0.0.1', hooks: { activate() {} }, run() {} };
