module.exports = [{ name: "x" }];
