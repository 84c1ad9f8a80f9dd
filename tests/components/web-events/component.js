// Listeners are called once, in order, until one stops the event.
module.exports = {
  name: 'web-events',
  version: '1.0.0',
  type: 'action',
  async run() {
    const seen = [];
    const target = new EventTarget();
    target.addEventListener('x', () => seen.push('once'), { once: true });
    target.addEventListener('x', { handleEvent: (event) => seen.push(event.type) });
    target.addEventListener('x', (event) => { event.preventDefault(); event.stopImmediatePropagation(); });
    target.addEventListener('x', () => seen.push('never'));
    const results = [target.dispatchEvent(new Event('x', { cancelable: true })), target.dispatchEvent(new CustomEvent('x', { detail: 1 }))];
    return [seen, results, new CustomEvent('y', { detail: { a: 1 } }).detail];
  },
};
