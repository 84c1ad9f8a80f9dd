-- ARGV: tenant:emitter. Answers {name, count}... in order of names.
local answer = {}
for _, name in ipairs(redis.call('ZRANGE', KEYS[1] .. ':streams:' .. ARGV[1], 0, -1)) do
  answer[#answer + 1] = {name, redis.call('XLEN', KEYS[1] .. ':stream:' .. ARGV[1] .. ':' .. name)}
end
return answer
