module.exports = {
  name: 'A form with a file is sent as multipart, and read back the same',
  version: '0.0.1',
  type: 'action',
  async run() {
    const form = new FormData();
    form.append('name', 'Ada \u00e9');
    form.append('tag', 'a');
    form.append('tag', 'b');
    form.append('file', new File(['<b>hi</b>'], 'hi "1".html', { type: 'text/html' }));
    form.append('blob', new Blob([Uint8Array.of(0, 255)]));
    const request = new Request('https://api.example.com/form', { method: 'POST', body: form });
    const type = request.headers.get('content-type');
    const again = await new Response(await request.clone().arrayBuffer(), { headers: { 'content-type': type } }).formData();
    const file = again.get('file');
    const blob = again.get('blob');
    return { type: type.split(';')[0], fields: [again.get('name'), again.getAll('tag')], file: [file.name, file.type, await file.text()], blob: [blob.name, [...new Uint8Array(await blob.arrayBuffer())]] };
  },
};
