-- ARGV: tenant, kind, then one of
--   'alias', alias  |  'list', newer than, older than, limit, ascending (1 or 0)
-- Answers {total, {id, alias, version, position, value}...}.
local P = KEYS[1]
local call = redis.call
local owner = ARGV[1] .. ':' .. ARGV[2]

local answer = {0}
local function add(id)
  local row = call('HMGET', P .. ':record:' .. owner .. ':' .. id, 'alias', 'version', 'position', 'value')
  if row[2] then answer[#answer + 1] = {id, row[1], row[2], row[3], row[4]} end
end

if ARGV[3] == 'alias' then
  local id = call('HGET', P .. ':alias:' .. owner, ARGV[4])
  if id then add(id) end
else
  local list = P .. ':records:' .. owner
  answer[1] = call('ZCARD', list)
  local ids
  if ARGV[7] == '1' then
    ids = call('ZRANGE', list, '(' .. ARGV[4], '(' .. ARGV[5], 'BYSCORE', 'LIMIT', 0, ARGV[6])
  else
    ids = call('ZRANGE', list, '(' .. ARGV[5], '(' .. ARGV[4], 'BYSCORE', 'REV', 'LIMIT', 0, ARGV[6])
  end
  for _, id in ipairs(ids) do add(id) end
end
return answer
