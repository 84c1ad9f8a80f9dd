let calls = 0;
exports.count = () => { calls += 1; return calls; };
