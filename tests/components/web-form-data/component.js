// Forms are written as multipart and read back.
module.exports = {
  name: 'web-form-data',
  version: '1.0.0',
  type: 'action',
  async run() {
    const form = new FormData();
    form.append('name', 'Zoë');
    form.append('tag', 'a');
    form.append('tag', 'b');
    form.set('file', new Blob(['content'], { type: 'text/csv' }), 'data.csv');
    const request = new Request('https://example.com/', { method: 'POST', body: form });
    const type = request.headers.get('content-type').replace(/boundary=.*/, 'boundary=');
    const back = await request.formData();
    return [type, back.get('name'), back.getAll('tag'), back.get('file').name, back.get('file').type, await back.get('file').text()];
  },
};
