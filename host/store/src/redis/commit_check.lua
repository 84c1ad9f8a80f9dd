-- First half of a commit: reads the batch from ARGV and judges it. Nothing is written here, because
-- a script cannot take back what it wrote. Operations that depend on earlier ones of the same batch
-- are judged against what those will have done.
--
-- ARGV: tenant, now, name of this commit, channel, count of preconditions, of operations, of pulses;
-- then each of them as: its number of arguments (its name included), its name, its arguments.
local tenant, now, commit_key = ARGV[1], tonumber(ARGV[2]), P .. ':done:' .. ARGV[3]

local answered = call('GET', commit_key)
if answered then return cmsgpack.unpack(answered) end

local place = 8
local function read_many(count)
  local many = {}
  for index = 1, count do
    local length = tonumber(ARGV[place])
    local one = {}
    for offset = 1, length do one[offset] = ARGV[place + offset] end
    place = place + length + 1
    many[index] = one
  end
  return many
end
local preconditions = read_many(tonumber(ARGV[5]))
local operations = read_many(tonumber(ARGV[6]))
local pulses = read_many(tonumber(ARGV[7]))

local function record_key(kind, id) return P .. ':record:' .. tenant .. ':' .. kind .. ':' .. id end
local function alias_key(kind) return P .. ':alias:' .. tenant .. ':' .. kind end
local function state_key(scope) return P .. ':state:' .. tenant .. ':' .. scope end
local function sizes_key() return P .. ':sizes:' .. tenant end
local function counter_key(counter) return P .. ':counter:' .. tenant .. ':' .. counter end
local function timer_key(timer) return P .. ':timer:' .. tenant .. ':' .. timer end

for index, one in ipairs(preconditions) do
  local holds
  if one[1] == 'version' then
    holds = call('HGET', record_key(one[2], one[3]), 'version') == one[4]
  elseif one[1] == 'absent' then
    holds = call('EXISTS', record_key(one[2], one[3])) == 0
  elseif one[1] == 'alias' then
    holds = call('HEXISTS', alias_key(one[2]), one[3]) == 0
  elseif one[1] == 'below' then
    holds = tonumber(call('GET', counter_key(one[2])) or '0') < tonumber(one[3])
  elseif one[1] == 'job' then
    if not holds_job(tenant, one[2], one[3]) then return {'lost'} end
    holds = true
  elseif one[1] == 'timer' then
    if not holds_timer(tenant, one[2], one[3]) then return {'lost'} end
    holds = true
  end
  if not holds then return {'precondition', index - 1} end
end

-- What earlier operations will have done: alias of a record, owner of an alias ('' is nobody),
-- bytes of a value and of a scope, leases that are settled.
local alias_of, owner_of, value_size, scope_size, settled = {}, {}, {}, {}, {}

local function current_alias(kind, id)
  local name = kind .. ':' .. id
  if not alias_of[name] then alias_of[name] = call('HGET', record_key(kind, id), 'alias') or '' end
  return alias_of[name]
end

local function current_owner(kind, alias)
  local name = kind .. ':' .. alias
  if not owner_of[name] then owner_of[name] = call('HGET', alias_key(kind), alias) or '' end
  return owner_of[name]
end

local function rename(kind, id, alias)
  local before = current_alias(kind, id)
  if before ~= '' then owner_of[kind .. ':' .. before] = '' end
  if alias ~= '' then owner_of[kind .. ':' .. alias] = id end
  alias_of[kind .. ':' .. id] = alias
end

local function resize(scope, key, bytes)
  local sizes = value_size[scope]
  if not sizes then
    sizes = {}
    value_size[scope] = sizes
    scope_size[scope] = tonumber(call('HGET', sizes_key(), scope) or '0')
  end
  if not sizes[key] then
    local length = call('HSTRLEN', state_key(scope), key)
    local exists = length > 0 or call('HEXISTS', state_key(scope), key) == 1
    sizes[key] = exists and length + #key or 0
  end
  local before = scope_size[scope]
  scope_size[scope] = before - sizes[key] + bytes
  sizes[key] = bytes
  return before, scope_size[scope]
end

local leases = {
  acknowledge = function(one)
    if settled[one[2]] or not holds_job(tenant, one[2], one[3]) then return {'lost'} end
    settled[one[2]] = true
  end,
  set_timer = function(one) settled['timer ' .. one[2]] = true end,
  finish = function(one)
    local name = 'timer ' .. one[2]
    if settled[name] or not holds_timer(tenant, one[2], one[3]) then return {'lost'} end
    settled[name] = true
  end,
}
leases.reschedule = leases.acknowledge
leases.clear_timer = leases.set_timer

local values = {
  put = function(one, index)
    local kind, id, alias = one[2], one[3], one[4]
    local owner = alias ~= '' and current_owner(kind, alias) or ''
    if owner ~= '' and owner ~= id then return {'operation', index - 1} end
    rename(kind, id, alias)
  end,
  delete = function(one) rename(one[2], one[3], '') end,
  set = function(one, index)
    local before, after = resize(one[2], one[3], #one[3] + #one[4])
    if after > tonumber(one[5]) and after > before then return {'cap', index - 1, digits(after)} end
  end,
  remove = function(one) resize(one[2], one[3], 0) end,
}

-- Leases first, as in every engine: who has lost one need not know what else is wrong.
for _, judges in ipairs({leases, values}) do
  for index, one in ipairs(operations) do
    local judge = judges[one[1]]
    local refusal = judge and judge(one, index)
    if refusal then return refusal end
  end
end
