// Atob and btoa work on Latin-1 and refuse the rest.
module.exports = {
  name: 'web-base64-functions',
  version: '1.0.0',
  type: 'action',
  async run() {
    const attempt = (work) => {
      try {
        return work();
      } catch (error) {
        return [error.name, error.code, error instanceof DOMException];
      }
    };
    return [btoa('hé'), atob(' aGk= '), attempt(() => btoa('€')), attempt(() => atob('a'))];
  },
};
