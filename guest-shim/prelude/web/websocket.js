'use strict';
// `WebSocket` is there, as in Node, because libraries look for it when they are set up; connecting is not possible.
const { EventTarget } = internal.lazy('web/events');

class WebSocket extends EventTarget {
  constructor(url) {
    super();
    throw new TypeError(`A component cannot open the WebSocket ${String(url)}: it runs for one event and reaches the outside over HTTP`);
  }
}
for (const [name, value] of Object.entries({ CONNECTING: 0, OPEN: 1, CLOSING: 2, CLOSED: 3 })) {
  for (const target of [WebSocket, WebSocket.prototype]) Object.defineProperty(target, name, { value, enumerable: true });
}
return { WebSocket };
