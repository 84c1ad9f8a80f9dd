module.exports = {
  name: 'A mistake of syntax is told with its place',
  run() { return 1 +; },
};
