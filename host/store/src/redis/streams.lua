-- ARGV: tenant:emitter. Answers {name, count}... in any order.
local answer = {}
for _, field in ipairs(redis.call('HKEYS', KEYS[1] .. ':emitter:' .. ARGV[1])) do
  if field ~= 'last' then
    local name = string.sub(field, 2)
    answer[#answer + 1] = {name, redis.call('XLEN', KEYS[1] .. ':stream:' .. ARGV[1] .. ':' .. name)}
  end
end
return answer
