-- ARGV: tenant, the ranks of the first and the last head. Answers a row for each: from when on it is available, its
-- attempts, how many of its lane wait for it, and its payload.
local tenant, rows = ARGV[1], {}
local found = call('ZRANGE', heads_key(tenant), ARGV[2], ARGV[3], 'WITHSCORES')
for at = 1, #found, 2 do
  local row = call('HMGET', job_key(found[at]), 'lane', 'attempt', 'payload')
  local behind = 0
  if row[1] then behind = call('LLEN', P .. ':lane:' .. tenant .. ':' .. row[1]) - 1 end
  if row[3] then rows[#rows + 1] = {digits(tonumber(found[at + 1])), row[2], behind, row[3]} end
end
return rows
