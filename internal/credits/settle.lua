-- Charges what a reservation delivered and deletes the reservation. A lapsed one is
-- charged too. A missing one is charged nothing: 'gone' when it was settled before,
-- 'lost' when this hash never had it or was restored to a time before it.
--
-- ARGV[3]  the reservation's id
-- ARGV[4]  its seq
-- ARGV[5]  its epoch
-- ARGV[6]  the amount delivered
-- returns  { status, used, ms the clock was ahead }

local w = load_window()
local id, seq, epoch, delivered = ARGV[3], tonumber(ARGV[4]), ARGV[5], tonumber(ARGV[6])

local r = w.exists and load_reservation(id)
if not r then
  if w.exists then save(w) end
  local seen = w.exists and w.epoch == epoch and seq < w.next
  return { seen and 'gone' or 'lost', w.used, w.ahead }
end

if r.seq >= w.lapsed then w.held = w.held - r.amount end
drop_reservation(r)
if delivered > 0 then
  -- The minute in which the reservation was made.
  charge(w, math.max(math.floor(r.created / MINUTE), w.minute - WINDOW), r.op, delivered)
end
save(w, true)
return { 'settled', w.used, w.ahead }
