-- Reserves an amount for one request, or returns why it cannot. A repeated call with
-- the same id returns the same and reserves nothing more, so a call whose reply was
-- lost can be repeated.
--
-- ARGV[3]  the ceiling
-- ARGV[4]  the reservation's id
-- ARGV[5]  the amount, at least 1
-- ARGV[6]  the operation
-- returns  { status, used, ms the clock was ahead, seq, epoch }

local w = load_window()
local ceiling, id, amount = tonumber(ARGV[3]), ARGV[4], tonumber(ARGV[5])

local function answer(status, seq)
  return { status, w.used, w.ahead, seq or 0, w.epoch }
end

local known = w.exists and load_reservation(id)
if known then
  save(w, true)
  return answer('granted', known.seq)
end

if w.used >= ceiling or w.used + w.held >= ceiling then
  if w.exists then save(w) end
  return answer(w.used >= ceiling and 'used_up' or 'full')
end

if w.epoch == '' then w.epoch = id end
local seq = w.next
w.next = seq + 1
w.held = w.held + amount
redis.call('HSET', key,
  'r' .. id, table.concat({ int(seq), int(amount), int(w.now), ARGV[6] }, ' '),
  'q' .. int(seq), id)
save(w, true)
return answer('granted', seq)
