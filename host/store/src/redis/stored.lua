-- ARGV: tenant. Answers what its records, streams and values take; of streams what the server knows of their size.
local P, tenant, call = KEYS[1], ARGV[1], redis.call
local total = 0
for _, kind in ipairs(call('SMEMBERS', P .. ':kinds:' .. tenant)) do
  local owner = tenant .. ':' .. kind
  for _, id in ipairs(call('ZRANGE', P .. ':records:' .. owner, 0, -1)) do
    total = total + call('HSTRLEN', P .. ':record:' .. owner .. ':' .. id, 'value')
  end
end
for _, emitter in ipairs(call('SMEMBERS', P .. ':emitters:' .. tenant)) do
  local owner = tenant .. ':' .. emitter
  for _, name in ipairs(call('ZRANGE', P .. ':streams:' .. owner, 0, -1)) do
    total = total + (call('MEMORY', 'USAGE', P .. ':stream:' .. owner .. ':' .. name) or 0)
  end
end
for _, bytes in ipairs(call('HVALS', P .. ':sizes:' .. tenant)) do total = total + tonumber(bytes) end
return total
