'use strict';
// `tty`: there is none.
class ReadStream {}
class WriteStream {}
return { isatty: () => false, ReadStream, WriteStream };
