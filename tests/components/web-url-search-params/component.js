// Search parameters keep order, duplicates and encoding.
module.exports = {
  name: 'web-url-search-params',
  version: '1.0.0',
  type: 'action',
  async run() {
    const params = new URLSearchParams([['a', '1'], ['b', '2'], ['a', '3']]);
    params.set('b', 'x&y');
    params.delete('a', '1');
    params.append('z', "it's ~ok*");
    params.sort();
    return [params.toString(), [...params], params.getAll('a'), params.has('z'), params.size];
  },
};
