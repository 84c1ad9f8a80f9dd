-- A group of commits, each judged and applied on what the ones before it left; a refused one changes nothing.
--
-- KEYS: where the last group of this call is remembered; then for each batch the prefix of its partition.
-- ARGV: number of the group, channel, who sends it; then for each batch: how many arguments it has (this one included),
-- tenant, now, count of preconditions, count of operations, 'w' if it makes work, ':tenant:emitter' of each emitter it
-- appends to; then each precondition and operation: its name, its arguments.
-- Answers one line for each batch.

local function commit(at)
  tenant, now = ARGV[at + 1], ARGV[at + 2]
  local operations = tonumber(ARGV[at + 4])
  local refusal, first = judge(at + 7, tonumber(ARGV[at + 3]), operations)
  return refusal or apply(first, operations), not refusal
end

-- Answers the lines, and what to tell those who wait.
local function commit_each()
  local answers, work, events, heard, at = {}, '', '', {}, 4
  told, gone, is_gone, heads_added, heads_removed = {}, {}, {}, {}, {}
  for index = 1, #KEYS - 1 do
    P = KEYS[index + 1]
    local is_whole, answer, is_applied = pcall(commit, at)
    -- Our mistake, and only this batch's.
    if not is_whole then answer = 'failed ' .. string.gsub(answer.err or tostring(answer), '%s', ' ') end
    if is_whole and is_applied then
      if ARGV[at + 5] ~= '' then work = 'w' end
      local event = ARGV[at + 6]
      if not heard[event] then
        heard[event] = true
        events = events .. event
      end
    end
    answers[index] = answer
    at = at + tonumber(ARGV[at])
  end
  finish_group()
  return table.concat(answers, '\n'), work .. events
end

-- Remembered for twice as long as a client tries.
local function remember(text, ...) return call('SET', KEYS[1], text, 'PX', '120000', ...) end

-- A group that is sent again, because the answer was lost, gets the old answer and changes nothing; neither does one
-- that arrives after a later one. A server that takes no writes refuses the first step: then nothing has happened.
local function commit_group(keys, arguments)
  call, KEYS, ARGV = redis.call, keys, arguments
  local last = remember(ARGV[1] .. '\n', 'GET')
  if last then
    local split = string.find(last, '\n', 1, true)
    local number = string.sub(last, 1, split - 1)
    if tonumber(number) >= tonumber(ARGV[1]) then
      remember(last)
      return number == ARGV[1] and string.sub(last, split + 1) or 'late'
    end
  end
  local answer, pulse = commit_each()
  if pulse ~= '' then call('PUBLISH', ARGV[2], ARGV[3] .. ':' .. pulse) end
  remember(ARGV[1] .. '\n' .. answer)
  return answer
end
