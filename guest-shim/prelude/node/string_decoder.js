'use strict';
// `string_decoder`: npm's, callable without `new` as Node's is.
const { StringDecoder } = internal.lazy('npm/string_decoder');
return { StringDecoder };
