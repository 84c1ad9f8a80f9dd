-- A group of commits, each judged and applied on what the ones before it left; a refused one changes nothing.
--
-- KEYS: where the last group of this call is remembered; then for each batch the prefix of its partition.
-- ARGV: number of the group, channel, who sends it, LIVE; then for each batch: how many arguments it has (this one
-- included), tenant, now, count of preconditions, count of operations, 'w' if it makes work, who owns its
-- locks; then each precondition and operation: its name, its arguments.
-- Answers one line for each batch.

local function commit(at)
  tenant, now, lock_owner, news = ARGV[at + 1], ARGV[at + 2], ARGV[at + 6], {}
  local operations = tonumber(ARGV[at + 4])
  local refusal, first = judge(at + 7, tonumber(ARGV[at + 3]), operations)
  if refusal then return refusal end
  local answer = apply(first, operations)
  publish_news()
  return answer, true
end

-- Answers the lines, and whether there is work.
local function commit_each()
  local answers, has_work, at = {}, false, 5
  has_readers, followed = nil, {}
  told, gone, is_gone, heads_added, heads_removed = {}, {}, {}, {}, {}
  for index = 1, #KEYS - 1 do
    P = KEYS[index + 1]
    local is_whole, answer, is_applied = pcall(commit, at)
    -- Our mistake, and only this batch's.
    if not is_whole then answer = 'failed ' .. string.gsub(answer.err or tostring(answer), '%s', ' ') end
    if is_whole and is_applied and ARGV[at + 5] ~= '' then has_work = true end
    answers[index] = answer
    at = at + tonumber(ARGV[at])
  end
  finish_group()
  return table.concat(answers, '\n'), has_work
end

-- Remembered for twice as long as a client tries.
local function remember(text, ...) return call('SET', KEYS[1], text, 'PX', '120000', ...) end

-- A group that is sent again, because the answer was lost, gets the old answer and changes nothing; neither does one
-- that arrives after a later one. A server that takes no writes refuses the first step: then nothing has happened.
local function commit_group(keys, arguments)
  call, KEYS, ARGV, LIVE = redis.call, keys, arguments, arguments[4]
  local last = remember(ARGV[1] .. '\n', 'GET')
  if last then
    local split = string.find(last, '\n', 1, true)
    local number = string.sub(last, 1, split - 1)
    if tonumber(number) >= tonumber(ARGV[1]) then
      remember(last)
      return number == ARGV[1] and string.sub(last, split + 1) or 'late'
    end
  end
  local answer, has_work = commit_each()
  if has_work then call('PUBLISH', ARGV[2], ARGV[3] .. ':w') end
  remember(ARGV[1] .. '\n' .. answer)
  return answer
end
