'use strict';
// `https`: the certificates are checked outside, whatever the options say.
return internal.lazy('node/http-module')('https:');
