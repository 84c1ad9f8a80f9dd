const zlib = require('zlib');
const { Readable } = require('stream');
const BODY = Buffer.from('H4sIAAAAAAACAyWWS5IcIQxEr+IjSAiQOI4AEeGdt769X40XEz39KT6pzCf9+V2nfu2/v/78/DPLuux13tvmuWKdHL3X3NtDsh2PJXqNb80tfMZQTZOpni/5pu83tLVnvY/Rz7B9q9XecW7bXnZ1iuSdpsdi5Lh+TjU77jH6WHn30d3PEnmvetzhY4+b40wL6aJtvDnulldWrffVt8/inLMPv7xI9FdXYi+PfP361TXTe58Zc48QWTVt7ql6t86muufIlXnfa+uMGu3yIsFfs+7c48YRz7v07Dtlsuzx8d5sqz2ZLQWNLPTEKtdy34v1apXJlrvvniiCdLPXW7c8dKCT77lXy+KhLYMdc3s3fuwjZq14eZvfpBRrxj5iK7VQ9Sxbe+3gnJax68W63b97c/bzJkcZwRpv8nzN8/po3pb5ckeGeDfCln4brVM3/R7fT5/IqApfuyqv+1r9vOFmXeuoI9zez2tbZ1nVs5Ydvcvn1hbbNOIejbayUTzr7Y1uVrvG0lR28RKl9ttb9zFmuz2G8wxXiL7zzDkwxNmYa2d3XScE4WpRH2ENP4Kt+kbEwqaLV2SXEQjwVggW+Yw6dzlXnike2KC/fFf2KMv3tPeQtmPYi6zPa/3J0Z73mik+OsdyFhLu23RqZaWvbqdiLtsrGnfnDr6McOiRd1LGxs7XYq3dqQ3CXS0pPMQGV+ZXpatYNbILmjXTuTNfedYZGzeb1M5WqjbWOrjNt9VzIyXnueCqdsPwwg4Kia7d+peSqdlLTXJMdOM2cuV1yim1js0RSS6L05zVm2PirWu1gX9KkzTfy7arr++Ai5CavDjEdIxRufsgQ9EHPn4qFxMlV3xny3zec+DLQGH/InqtGVjYEQU8cvZUcaTd1obNGvvgwxXHFv5uek7665UavjNO/zHBgByVEIYQLidql2XvnLO/OZ1Qt9BGbWTgqkmAiGKLhlUg035WOKV8yMkdyx/3uY9Ttv2Jt/ZEJRVuhD7nEm1MOA4LYNBBBGV+es9Gnagl6XwV4+Dg0U7sXiOU6rbHQjihTxK1GpGxSMpJQfkR4CA/IOEh+ifHLQVfUMJ7K2gnxXFlQtgPJwDrIQ3q541E1je+FPvBiH10bNzmwBNywXAioZwz8V8b2gNa7RORAWi2kIEgY99FM96XmPG9HdUNItkVc+9n7gvax8Vl16T1fKT7vTsDGEzLNJeP2m2T2Mua/GaeDmN8EkvM65PMA87gVCRtgWNRcMuf7ppEiGpF4uZWNQDq4q6Gn+ZxrOEG/ufnWn8AdA2NG51dCfJZSMHXHXL5Jr0wsYm1wrhTGk4mhPI2DYjaE5d7SXv9P3EmbuhzAWvQhTZnUXpobFvdME2BnLd0bDngD7j30C9wZOKw/0NyHTQ5ffC6v9NbNgWKbI2XSej8MmoX82Ewx3y62vLck87QYT/mPVUiGjwWF4PehtQOIkG2cTjK+/JAjYVhBh0xASyc3kGVcXnX6dfOXSADTz7zuveDumJknDA/mF963eTtJxne9ID8AH/FBStBv6YJv4Ls9Fsa7IJOGF5pOYv+ie1xU2ua8Pb1j/uD1I/VyTvG0keLsZkI934ejgboiCM2kjNOh7uDOB3ICXfyjPWCpgZ+HlJoHzRHyNLovtTza+2CMxpLklQaryUkttelf1ri1dvbhCey2jEEsU2mExg//EdpmSIsaalfwRvtPUS/9PRAaVAEiXEeBr17eOr5Mvx1LEJDHyn479/k8Bg3cDQuBLfcm8Reyaqvm+G8h7e/43H9R9Zl4R5y2AjLaVhJG5fGi5gJMOo9X8u5SYm03wdnRPWTaV4q0n9gRAQh8v7SJ9KcO8TVdnFh9fT6Or3WbUnfBZye9BWWNXoTsKbgWIlnaE/2VcqL4DF5FTPMOvx/mYCERxm1UKVtDJ4TsEczC6zyuK6ndZK6dZiBF+jJwBIC+hCNGBTG1tPGtkHr4U4+GOUwiH3DGg3i4NUpeopZsJcdWulO8JrYYmzozydac2o7XR4fUzmwDYEYQ7gDiOv59aKhH9WEtkUN6FIg+etcfJ7sIUMGPmANx55aNclmMHB9p3BS0NsKgF+QGWg3AjenMJx8GEAMflbKMpSDWZBqJbPIaZ0GDsKqwdWqDXlgLa4R7JdciEmIuWBNR0oj7IxNH9Mu06oY7DjkgTbHBLdsehfKrSSJFsXxmY9IG1JIflxlG0YCFGUkBjlQqKS1QsmGuRoCQQSa82EkSsYTYwLtNDbBRIZIwvBxa63FmMiPL+2mGAzzKzbJMfLAJfHXaezJhLUWWbV/cZuJ87gLAAA=', 'base64');

const collect = async (stream) => {
  const pieces = [];
  for await (const piece of stream) pieces.push(piece);
  return pieces;
};

module.exports = {
  name: 'Streams of zlib give what they have, piece by piece',
  version: '0.0.1',
  type: 'action',
  async run() {
    const out = {};
    const halves = [BODY.subarray(0, BODY.length - 20), BODY.subarray(BODY.length - 20)];
    const gunzip = zlib.createGunzip();
    const firstPiece = new Promise((resolve) => { gunzip.once('data', (piece) => resolve(piece.toString().slice(0, 15))); });
    gunzip.write(halves[0].subarray(0, 900));
    out.early = await firstPiece;
    const all = collect(gunzip);
    gunzip.write(halves[0].subarray(900));
    gunzip.end(halves[1]);
    await all;
    out.bytes = Buffer.concat(await collect(Readable.from(halves).pipe(zlib.createUnzip()))).length;
    const gzip = zlib.createGzip();
    const flushed = new Promise((resolve) => { gzip.once('data', resolve); });
    gzip.write('now');
    gzip.flush();
    await flushed;
    gzip.end('later');
    out.flushed = 'flushed';
    const cut = await collect(Readable.from([halves[0]]).pipe(zlib.createGunzip())).catch((error) => [error.code, error.errno]);
    out.cut = cut;
    out.patient = zlib.gunzipSync(halves[0], { finishFlush: zlib.constants.Z_SYNC_FLUSH }).length > 0;
    out.brotli = Buffer.concat(await collect(Readable.from([zlib.brotliCompressSync('b'.repeat(1000))]).pipe(zlib.createBrotliDecompress()))).length;
    out.most = await collect(Readable.from([BODY]).pipe(zlib.createGunzip({ maxOutputLength: 10 }))).catch((error) => error.code);
    return out;
  },
};
