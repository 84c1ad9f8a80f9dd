-- Of a library, functions are made once and not with every call. What a call is about is set when it begins.
local P, call, KEYS, ARGV
