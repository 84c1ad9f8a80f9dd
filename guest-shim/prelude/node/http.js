'use strict';
// `http`.
return internal.lazy('node/http-module')('http:');
