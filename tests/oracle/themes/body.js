'use strict';
// Request, Response, Blob and FormData, without a network.
module.exports = async ({ bytes, hex, checkLater, check }) => {
  const BODIES = { text: () => 'häl', bytes: () => bytes(5), buffer: () => bytes(4).buffer, params: () => new URLSearchParams({ a: 'b c' }), blob: () => new Blob(['x', 'y'], { type: 'Text/X' }), nothing: () => null };
  for (const [name, body] of Object.entries(BODIES)) {
    await checkLater(`Response of ${name}`, async () => {
      const response = new Response(body());
      const copy = response.clone();
      return [response.headers.get('content-type'), hex(await response.arrayBuffer()), response.bodyUsed, await copy.text(), copy.status, copy.ok];
    });
  }
  await checkLater('a body is read once', async () => {
    const response = new Response('x');
    await response.text();
    return response.text();
  });
  await checkLater('Response.json', async () => {
    const response = Response.json({ a: 1 }, { status: 201 });
    return [response.status, response.headers.get('content-type'), await response.json()];
  });
  await checkLater('a body that is no JSON', async () => new Response('{').json());
  check('Response.redirect', () => [Response.redirect('https://a/b', 301).headers.get('location'), Response.error().type]);
  for (const init of [{ status: 199 }, { status: 600 }, { status: 204 }, { status: 404, statusText: 'No' }]) check(`Response ${JSON.stringify(init)}`, () => new Response(init.status === 204 ? 'x' : null, init).statusText);
  for (const [input, init] of [['https://a/', {}], ['https://a/', { method: 'post', body: 'x' }], ['https://a/', { method: 'patch' }], ['/relative', {}], ['https://u:p@h/', {}], ['https://a/', { body: 'x' }], ['https://a/', { method: 'CONNECT' }], ['https://a/', { redirect: 'odd' }], ['https://a/#f', { headers: { A: '1' } }]]) {
    check(`Request ${input} ${JSON.stringify(init)}`, () => {
      const request = new Request(input, init);
      return [request.url, request.method, [...request.headers], request.redirect, request.signal.aborted];
    });
  }
  await checkLater('FormData round trip', async () => {
    const form = new FormData();
    form.append('a', '1\n2');
    form.append('ä"', 'ö');
    form.append('f', new Blob(['file'], { type: 'text/plain' }), 'n"ä.txt');
    const back = await new Response(form).formData();
    return [[...back.keys()], back.get('a'), back.get('ä"'), back.get('f').name, back.get('f').type, await back.get('f').text()];
  });
  await checkLater('urlencoded form', async () => [...await new Response('a=1&b=%20', { headers: { 'content-type': 'application/x-www-form-urlencoded' } }).formData()]);
  await checkLater('Blob', async () => {
    const blob = new Blob(['hello', bytes(3)], { type: 'A/B' });
    return [blob.size, blob.type, await blob.slice(1, 3).text(), await blob.slice(-3).arrayBuffer().then(hex), blob.slice(0, 1, 'x/Y').type];
  });
  await checkLater('streams', async () => {
    const stream = new ReadableStream({ start(controller) { for (const piece of ['a', 'b']) controller.enqueue(new TextEncoder().encode(piece)); controller.close(); } });
    const upper = new TransformStream({ transform(text, controller) { controller.enqueue(text.toUpperCase()); } });
    let text = '';
    for await (const piece of stream.pipeThrough(new TextDecoderStream()).pipeThrough(upper)) text += piece;
    return text;
  });
  await checkLater('compression', async () => {
    const packed = new Blob(['x'.repeat(1000)]).stream().pipeThrough(new CompressionStream('gzip'));
    return (await new Response(packed.pipeThrough(new DecompressionStream('gzip'))).text()).length;
  });
};
