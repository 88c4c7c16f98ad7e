-- Applies operations to the windows of workspaces. doc.go describes the layout of a hash.
-- Each operation can be repeated: a repetition changes nothing and returns the same.
--
-- It avoids tables, functions and commands of Redis where it can: they are most of what a
-- call costs.
--
-- KEYS     the hashes, each once, then the keys of stored answers
-- ARGV[1]  the time in ms, or '' for the clock of Redis
-- ARGV[2]  the latest time in ms that the caller's own clock permits
-- ARGV[3]  and following: for each hash the number of its operations, then nine
--          arguments for each of them. The ids of one call differ. The key is the API key
--          that makes the request, or '', and its budget 0 if it has none.
--
--          reserve  id  amounts  ceiling  operation  key  budget  once  request
--          settle   id  charges  seq      epoch      key  -       once  request .. answer
--          charge   id  charges  ceiling  -          key  budget  once  -
--          renew    id  -        -        -          key  -       once  request
--          read     -   -        ceiling  -          key  budget  -     -
--          usage    -   -        ceiling  -          key  budget  -     -
--
--          amounts are those of the items of a request, "20 20 5". charges are
--          "operation:credits operation:credits", '' if nothing is charged.
--          once is the position in KEYS of the answer to store, '' for none. request has
--          16 bytes that tell requests with one key apart. An answer of no bytes is not
--          stored: the request failed. That of a charge is where its id is stored.
--
-- returns  { ms the clock was ahead, a reply for each operation }. A reply begins with
--          { status, used, used by the key }. Then come seq, epoch and the number of items
--          granted of reserve, and of read "operation:total operation:total", back, and back
--          of the key; usage adds "hour:total hour:total" and "key:total key:total". A window
--          that is used up has no seq but back: the time in ms from which less than the
--          ceiling, or the budget, is used, 0 if the ceiling is 0. Of read it is 0 for any
--          other window.
--          A reserve whose answer is stored has no seq but the answer; while another request
--          has its key, no seq but the ms for which that may last.
--          If a hash cannot be used, the replies of all its operations are the error.

local call, format, match, floor, sub = redis.call, string.format, string.match, math.floor, string.sub
local MINUTE = 60000
local WINDOW = 1440      -- minutes
local LAPSE = 60000      -- ms after which an open reservation no longer counts
local FORGET = 660000    -- ms after which it is deleted and cannot be settled
local CHUNK = 120        -- minutes read by one call
local STEPS = 1000       -- queue positions examined per call, which bounds its duration
local MANY = 4000        -- arguments of one command, an even number: Lua permits 8000
local ARGUMENTS = 9      -- of an operation
local IDLE = '259200000' -- ms without a call after which the hash expires: 72 hours
local LEASE = 5000       -- ms for which a request alone has its key
local STORE = '86400000' -- ms for which an answer is stored: 24 hours
local EMPTY = 2000       -- answers without records that are stored, each hour
local REQUEST = 16       -- bytes that tell requests apart
local REMEMBER = 60000   -- ms for which the id of a charge is stored

-- Numbers go up to 2^53. They are formatted, because Lua prints a large one as 1e+15.

local time = tonumber(ARGV[1])
if not time then
  local t = call('TIME')
  time = t[1] * 1000 + floor(t[2] / 1000)
end
-- Forward at most to the caller's limit.
local ahead = math.max(0, time - ARGV[2])
time = time - ahead

-- Adds to an entry of a list "name:total name:total". Returns the list and the index of
-- the entry's first character.
local function add(list, name, amount)
  local from, to, total = string.find(' ' .. list, ' ' .. name .. ':(%d+)')
  if not from then
    if list ~= '' then list = list .. ' ' end
    return format('%s%s:%d', list, name, amount), #list + 1
  end
  return format('%s%s:%d%s', string.sub(list, 1, from - 1), name, total + amount, string.sub(list, to)), from
end

local replies = { ahead }

-- Applies the operations of one window, whose arguments begin at first and end at last.
local function apply(key, first, last)
  local fields = { 'w', 'b', 'o' }
  for i = first, last, ARGUMENTS do
    local n = #fields
    fields[n + 1], fields[n + 2] = 'r' .. ARGV[i + 1], 'k' .. ARGV[i + 5]
  end
  local stored = call('HMGET', key, unpack(fields))

  local exists, clear, extend = stored[1], false, true
  local now, used, held, oldest = time, 0, 0, -1
  local next, lapsed, forgotten, epoch = 0, 0, 0, ''
  local totals, buckets = stored[2] or '', nil -- buckets: the changed ones, of keys too
  local keys, list, listed = {}, nil, false    -- keys of this call; the list of all, and whether it changed
  local since = tonumber(stored[3] or -1)      -- the oldest bucket of keys
  local set, deleted = { 'w', '' }, {}         -- fields
  local settled = {}                           -- positions of the queue
  local answers = {}                           -- by position in KEYS, false for none
  local empty                                  -- answers without records in this hour
  local before
  if exists then
    before, used, held, oldest, next, lapsed, forgotten, epoch =
      match(stored[1], '^(%d+) (%d+) (%d+) (%-?%d+) (%d+) (%d+) (%d+) (%S+)$')
    before, used, held, oldest = tonumber(before), tonumber(used), tonumber(held), tonumber(oldest)
    next, lapsed, forgotten = tonumber(next), tonumber(lapsed), tonumber(forgotten)
    now = math.max(time, before) -- backward never
  end
  local minute = floor(now / MINUTE)
  local start = minute - WINDOW -- the oldest minute still in the window
  if exists then
    before = floor(before / MINUTE)
    extend = before < minute
    if before < start then
      -- Not used for longer than the window: everything in it is too old, reservations
      -- too. One DEL replaces a loop over a day of minutes. The time and the positions
      -- of the queue stay.
      clear, totals, list, stored = true, '', '', {}
      used, held, oldest, since, lapsed, forgotten = 0, 0, -1, -1, next, next
    elseif oldest >= 0 and oldest < start then
      -- Drop the buckets that are too old.
      local dropped = {} -- by position in the totals
      for m = oldest, start - 1 do
        local field = format('%d', m)
        local counts = call('HGET', key, field)
        if counts then
          deleted[#deleted + 1] = field
          for position, n in string.gmatch(counts, '(%d+):(%d+)') do
            dropped[position] = (dropped[position] or 0) + n
            used = used - n
          end
        end
      end
      local position = 0
      totals = string.gsub(totals, '(%S+):(%d+)', function(name, total)
        position = position + 1
        return format('%s:%d', name, total - (dropped[format('%d', position)] or 0))
      end)
      oldest, buckets = start, {}
    end
  end

  -- Returns what is known of an API key. text is its field, if it was read.
  local function known_key(id, text)
    local k = keys[id]
    if not k then
      if text == nil and not clear then text = call('HGET', key, 'k' .. id) end
      k = { text = text, number = 0, used = 0, held = 0, last = 0 }
      if text then
        local number, spent, reserved, at = match(text, '^(%d+) (%d+) (%d+) (%d+)$')
        k.number, k.used, k.held, k.last = tonumber(number), tonumber(spent), tonumber(reserved), tonumber(at)
      end
      keys[id] = k
    end
    return k
  end

  -- Returns the list "number/key number/key" of the keys that used credits.
  local function numbers()
    list = list or call('HGET', key, 'l') or ''
    return list
  end

  if since >= 0 and since < start then
    -- Drop the buckets of keys that are too old. A server of the version before drops
    -- the others only.
    local dropped = {}
    for m = since, start - 1 do
      local field = format('m%d', m)
      local counts = call('HGET', key, field)
      if counts then
        deleted[#deleted + 1] = field
        for number, n in string.gmatch(counts, '(%d+):(%d+)') do dropped[number] = (dropped[number] or 0) + n end
      end
    end
    for number, id in string.gmatch(numbers(), '(%d+)/(%S+)') do
      if dropped[number] then
        local k = known_key(id)
        k.used = k.used - dropped[number]
      end
    end
    since = start
  end

  -- Calls f with each minute of the window that has a bucket, and with its total, until
  -- f returns true: from the oldest on with a step of 1, from the newest with -1. With
  -- the number of a key, only what that used counts.
  local function each(step, f, number)
    local from, to, prefix, of = oldest, minute, '', ':(%d+)'
    if number then from, prefix, of = since, 'm', format(' %d:(%%d+)', number) end
    if from < 0 then return end
    if step < 0 then from, to = to, from end
    for m = from, to, step * CHUNK do
      local minutes = {}
      for n = 0, math.min(CHUNK - 1, (to - m) * step) do minutes[n + 1] = format('%s%d', prefix, m + n * step) end
      local values = call('HMGET', key, unpack(minutes))
      for n, bucket in ipairs(minutes) do
        local counts, total = buckets and buckets[bucket] or values[n], 0
        if counts then
          for amount in string.gmatch(number and ' ' .. counts or counts, of) do total = total + amount end
          if total > 0 and f(m + (n - 1) * step, total) then return end
        end
      end
    end
  end

  -- What is used becomes lower than the ceiling with the minute up to which the credits
  -- are more than used - ceiling, and from which on they are at least the ceiling. The
  -- same holds for what a key used and its budget. To find a key's credits can take a
  -- walk through the day, so the requests of one call that are refused share it: the
  -- buckets change only together with what is used.
  local backs = {}
  local function back(used, ceiling, number)
    local step, rest, at = 1, used - ceiling + 1, 0
    if rest <= 0 or ceiling == 0 then return 0 end
    local asked = format('%d %d %d', number or 0, used, ceiling)
    if backs[asked] then return backs[asked] end
    if ceiling < rest then step, rest = -1, ceiling end
    each(step, function(m, total)
      rest, at = rest - total, (m + WINDOW + 1) * MINUTE
      return rest <= 0
    end, number)
    backs[asked] = at
    return at
  end

  -- Returns "key:total key:total" of the keys that used credits.
  local function by_key()
    local ids, sums = {}, {}
    for id in string.gmatch(numbers(), '/(%S+)') do ids[#ids + 1] = id end
    for at = 1, #ids, CHUNK do
      local fields = {}
      for n = at, math.min(at + CHUNK - 1, #ids) do fields[#fields + 1] = 'k' .. ids[n] end
      local texts = clear and {} or call('HMGET', key, unpack(fields))
      for n, text in ipairs(texts) do
        local id = ids[at + n - 1]
        local spent = known_key(id, text).used
        if spent > 0 then sums[#sums + 1] = format('%s:%d', id, spent) end
      end
    end
    return table.concat(sums, ' ')
  end

  -- Returns why nothing is granted to a request, nil if something is.
  local function refusal(ceiling, budget, k)
    if used >= ceiling then return { 'used_up', used, 0, back(used, ceiling), epoch } end
    if budget > 0 and k.used >= budget then return { 'key_used_up', used, 0, back(k.used, budget, k.number), epoch } end
    if used + held >= ceiling then return { 'full', used, 0, 0, epoch } end
    if budget > 0 and k.used + k.held >= budget then return { 'key_full', used, 0, 0, epoch } end
  end

  -- Charges "operation:credits operation:credits" to the minute of a time, and to a key. A
  -- bucket refers to an operation by its position in the totals.
  local function spend(charges, at, k, id)
    local m = math.max(floor(at / MINUTE), start)
    local field, sum = format('%d', m), 0
    for operation, credits in string.gmatch(charges, '(%S+):(%d+)') do
      local from
      totals, from = add(totals, operation, credits)
      local _, position = string.gsub(string.sub(totals, 1, from - 1), ' ', '')
      buckets = buckets or {}
      buckets[field] = add(buckets[field] or call('HGET', key, field) or '', position + 1, credits)
      sum = sum + credits
    end
    if sum == 0 then return end
    if oldest < 0 or m < oldest then oldest = m end
    used = used + sum
    if not k then return end
    if k.number == 0 then
      k.number = (match(string.sub(numbers(), -60), '(%d+)/%S+$') or 0) + 1
      list = format('%s%s%d/%s', list, list == '' and '' or ' ', k.number, id)
      listed = true
    end
    if since < 0 or m < since then since = m end
    k.used = k.used + sum
    field = format('m%d', m)
    buckets[field] = add(buckets[field] or call('HGET', key, field) or '', k.number, sum)
  end

  local advanced = clear
  for i = first, last, ARGUMENTS do
    local kind, id = ARGV[i], ARGV[i + 1]
    local nth = 4 + (i - first) / ARGUMENTS * 2
    local k = ARGV[i + 5] ~= '' and known_key(ARGV[i + 5], stored[nth + 1])
    -- The stored reservation with this id, unless it is too old.
    local known, seq, amount, created, operation, by = stored[nth], nil, nil, nil, nil, nil
    if known then
      seq, amount, created, operation, by = match(known, '^(%d+) (%d+) (%d+) (%S+) ?(%S*)$')
      known = created + FORGET > now
    end

    if kind ~= 'settle' and not advanced then
      -- The queue has reservations in the order of creation, so those to lapse and to
      -- delete are at its head. The reservation at an empty position was settled.
      advanced = true
      local limit = math.min(next, lapsed + STEPS)
      while lapsed < limit do
        local head = not settled[lapsed] and call('HGET', key, format('q%d', lapsed))
        if head then
          local reserved, at, of = match(call('HGET', key, 'r' .. head), '^%d+ (%d+) (%d+) %S+ ?(%S*)')
          if at + LAPSE > now then break end
          held = held - reserved
          if of ~= '' then
            of = known_key(of)
            of.held = math.max(0, of.held - reserved)
          end
        end
        lapsed = lapsed + 1
      end
      limit = math.min(lapsed, forgotten + STEPS)
      while forgotten < limit do
        local head = not settled[forgotten] and call('HGET', key, format('q%d', forgotten))
        if head then
          local at = match(call('HGET', key, 'r' .. head), '^%d+ %d+ (%d+)')
          if at + FORGET > now then break end
          local n = #deleted
          deleted[n + 1], deleted[n + 2] = 'r' .. head, format('q%d', forgotten)
        end
        forgotten = forgotten + 1
      end
    end

    -- What is stored under the key of the request: 'p', the request and the reservation
    -- while it is in progress, then 'a', the request and the answer.
    local once, earlier, mine = tonumber(ARGV[i + 7]), false, nil
    if once then
      earlier = answers[once]
      if earlier == nil then earlier = call('GET', KEYS[once]) end
      mine = 'p' .. sub(ARGV[i + 8], 1, REQUEST) .. id
    end

    local reply
    if kind == 'reserve' then
      -- Reserves the amounts of one request, or returns why it cannot.
      -- Of the items of a batch those before which there is something left are granted.
      local ceiling, budget = tonumber(ARGV[i + 3]), tonumber(ARGV[i + 6])
      -- All reservations of the key have lapsed. This differs from what was counted only
      -- after a server of the version before let one lapse.
      if k and k.last + LAPSE <= now then k.held = 0 end
      if earlier and sub(earlier, 2, REQUEST + 1) ~= ARGV[i + 8] then
        reply = { 'conflict', used, 0, 0, epoch }
      elseif earlier and sub(earlier, 1, 1) == 'a' then
        reply = { 'stored', used, 0, 0, epoch, sub(earlier, REQUEST + 2) }
      elseif earlier and earlier ~= mine then
        reply = { 'in_progress', used, 0, answers[once] and LEASE or call('PTTL', KEYS[once]), epoch }
      else
        reply = not known and refusal(ceiling, budget, k)
      end
      if not reply then
        local granted, sum = 0, 0
        for n in string.gmatch(ARGV[i + 2], '%d+') do
          if known then
            if sum >= tonumber(amount) then break end
          elseif used + held + sum >= ceiling or budget > 0 and k.used + k.held + sum >= budget then
            break
          end
          granted, sum = granted + 1, sum + n
        end
        reply = { 'granted', used, 0, known and tonumber(seq) or next, epoch, granted }
        if reply[5] == '' then reply[5] = id end
        if not known then
          epoch = reply[5]
          local n, reservation = #set, format('%d %d %d %s', next, sum, now, ARGV[i + 4])
          if k then
            k.held, k.last = k.held + sum, now
            reservation = format('%s %s', reservation, ARGV[i + 5])
          end
          set[n + 1], set[n + 2] = 'r' .. id, reservation
          set[n + 3], set[n + 4] = format('q%d', next), id
          exists, next, held = true, next + 1, held + sum
          if once then answers[once] = mine end
        end
      end

    elseif kind == 'renew' then
      -- A request that takes long has its key for longer.
      if once and known and (not earlier or earlier == mine) then answers[once] = mine end
      reply = { '', used, 0 }

    elseif kind == 'charge' then
      -- Charges without a reservation, as much as a reserve would grant: anything while the
      -- ceiling is not reached.
      reply = not earlier and refusal(tonumber(ARGV[i + 3]), tonumber(ARGV[i + 6]), k)
      if not reply then
        if not earlier then
          if epoch == '' then epoch = id end
          exists = true
          spend(ARGV[i + 2], now, k, ARGV[i + 5])
          if once then answers[once] = 'c' end
        end
        reply = { 'charged', used, 0, 0, epoch }
      end

    elseif kind == 'settle' then
      -- Charges what a reservation delivered and deletes the reservation. A lapsed one is
      -- charged too. A missing one is charged nothing: 'gone' when it was settled before,
      -- 'lost' when this hash never had it or was restored to a time before it. When
      -- another request has the key meanwhile, this one is 'superseded' and not charged.
      local answer = once and sub(ARGV[i + 8], REQUEST + 1) or ''
      if not known then
        local seen = exists and epoch == ARGV[i + 4] and tonumber(ARGV[i + 3]) < next
        if seen and answer ~= '' and earlier ~= 'a' .. ARGV[i + 8] and (earlier or ARGV[i + 2] ~= '') then
          reply = { 'superseded', used, 0 }
        else
          reply = { seen and 'gone' or 'lost', used, 0 }
        end
      else
        local superseded = earlier and earlier ~= mine
        k = by ~= '' and known_key(by)
        local n = #deleted
        deleted[n + 1], deleted[n + 2] = 'r' .. id, 'q' .. seq
        seq = tonumber(seq)
        settled[seq] = true
        if seq >= lapsed then
          held = held - amount
          if k then k.held = math.max(0, k.held - amount) end
        end
        if seq == lapsed then lapsed = seq + 1 end
        if seq == forgotten then forgotten = seq + 1 end
        if answer ~= '' and not superseded and ARGV[i + 2] == '' then
          local hour = floor(now / 3600000)
          if not empty then
            local h, n = match(call('HGET', key, 'e') or '', '^(%d+) (%d+)$')
            empty = tonumber(h) == hour and tonumber(n) or 0
          end
          if empty < EMPTY then
            empty = empty + 1
            local n = #set
            set[n + 1], set[n + 2] = 'e', format('%d %d', hour, empty)
          else
            answer = ''
          end
        end
        if answer ~= '' and not superseded then
          answers[once] = 'a' .. ARGV[i + 8]
        elseif earlier and earlier == mine then
          answers[once] = false
        end
        if not superseded then spend(ARGV[i + 2], created, k, by) end
        reply = { superseded and 'superseded' or 'settled', used, 0 }
      end

    else
      local budget, key_back = tonumber(ARGV[i + 6]), 0
      if budget > 0 then key_back = back(k.used, budget, k.number) end
      reply = { '', used, 0, totals, back(used, tonumber(ARGV[i + 3])), key_back }
      if kind == 'usage' then
        local hours, sums = {}, {}
        each(1, function(m, total)
          local hour = floor(m / 60)
          if #hours == 0 or hours[#hours] ~= hour then
            hours[#hours + 1], sums[#sums + 1] = hour, 0
          end
          sums[#sums] = sums[#sums] + total
        end)
        for n, hour in ipairs(hours) do sums[n] = format('%d:%d', hour, sums[n]) end
        reply[7] = table.concat(sums, ' ')
        reply[8] = by_key()
      end
    end
    if k then reply[3] = k.used end
    replies[#replies + 1] = reply
  end

  if not exists then return end
  if clear then call('DEL', key) end
  set[2] = format('%d %d %d %d %d %d %d %s', now, used, held, oldest, next, lapsed, forgotten, epoch)
  if buckets then
    local n = #set
    set[n + 1], set[n + 2] = 'b', totals
    for m, counts in pairs(buckets) do
      n = n + 2
      set[n + 1], set[n + 2] = m, counts
    end
  end
  -- A key is forgotten when it has neither used nor reserved anything.
  local unlisted = false
  for id, k in pairs(keys) do
    if k.used == 0 and k.number > 0 then k.number, unlisted = 0, true end
    local text = (k.used > 0 or k.held > 0) and format('%d %d %d %d', k.number, k.used, k.held, k.last)
    if text and text ~= k.text then
      local n = #set
      set[n + 1], set[n + 2] = 'k' .. id, text
    elseif k.text and not text then
      deleted[#deleted + 1] = 'k' .. id
    end
  end
  if unlisted then
    local rest = {}
    for entry, id in string.gmatch(numbers(), '(%d+/(%S+))') do
      if not keys[id] or keys[id].number > 0 then rest[#rest + 1] = entry end
    end
    list, listed = table.concat(rest, ' '), true
  end
  if listed then
    if list == '' then
      deleted[#deleted + 1] = 'l'
    else
      local n = #set
      set[n + 1], set[n + 2] = 'l', list
    end
  end
  if since >= 0 and since ~= tonumber(stored[3] or -1) then
    local n = #set
    set[n + 1], set[n + 2] = 'o', format('%d', since)
  end
  -- A Redis without memory refuses HSET, except after another write: what was reserved
  -- can still be settled.
  for n = 1, #deleted, MANY do call('HDEL', key, unpack(deleted, n, math.min(n + MANY - 1, #deleted))) end
  for n = 1, #set, MANY do call('HSET', key, unpack(set, n, math.min(n + MANY - 1, #set))) end
  if extend then call('PEXPIRE', key, IDLE) end -- once a minute
  -- Last: an answer is stored only if it is charged.
  for once, content in pairs(answers) do
    if not content then
      call('DEL', KEYS[once])
    else
      local state = sub(content, 1, 1)
      call('SET', KEYS[once], content, 'PX', state == 'a' and STORE or state == 'c' and REMEMBER or LEASE)
    end
  end
end

-- The windows are independent of each other: an unusable hash fails its own operations.
local at, i = 3, 0
while ARGV[at] do
  local n, first, done = ARGV[at], at + 1, #replies
  at, i = first + ARGUMENTS * n, i + 1
  local ok, failure = pcall(apply, KEYS[i], first, at - 1)
  if not ok then
    for k = 1, n do
      replies[done + k] = redis.error_reply(type(failure) == 'table' and failure.err or tostring(failure))
    end
  end
end
return replies
