'use strict';
// Prints what Node answers, as JSON: node tests/oracle/run-node.js [theme]
process.env.TZ = 'UTC';
require('./cases.js').run(process.argv[2]).then((results) => process.stdout.write(JSON.stringify(results)));
