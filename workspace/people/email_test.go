package people_test

import (
	"encoding/json"
	"testing"
	"time"

	"atlas/workspace/people"
)

func TestScheduleEmail(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 5, 1, 9, 0, 0, 0, time.UTC)
	at := func(hours float64) *time.Time {
		when := now.Add(time.Duration(hours * float64(time.Hour)))
		return &when
	}
	r := people.InvitationRecord{
		Invitation: people.Invitation{CreatedAt: now, ExpiresAt: now.Add(people.InvitationTTL)}, SendEmail: true,
	}
	for name, c := range map[string]struct {
		earlier people.EarlierEmails
		want    string
	}{
		"the first":            {people.EarlierEmails{}, `{"status":"due","due_at":"2026-05-01T09:00:00.000Z","paced_by":null}`},
		"an hour after":        {people.EarlierEmails{InWorkspace: at(-1)}, `{"status":"due","due_at":"2026-05-01T09:00:00.000Z","paced_by":null}`},
		"within the hour":      {people.EarlierEmails{InWorkspace: at(-0.5)}, `{"status":"delayed","due_at":"2026-05-01T09:30:00.000Z","paced_by":"workspace"}`},
		"after one that waits": {people.EarlierEmails{InWorkspace: at(2)}, `{"status":"delayed","due_at":"2026-05-01T12:00:00.000Z","paced_by":"workspace"}`},
		"within the day":       {people.EarlierEmails{ToAddress: at(-23)}, `{"status":"delayed","due_at":"2026-05-01T10:00:00.000Z","paced_by":"address"}`},
		"the later of both": {
			people.EarlierEmails{InWorkspace: at(3), ToAddress: at(-23)},
			`{"status":"delayed","due_at":"2026-05-01T13:00:00.000Z","paced_by":"workspace"}`,
		},
		"when the invitation ends": {
			people.EarlierEmails{InWorkspace: at(7*24 - 1)},
			`{"status":"withheld","due_at":null,"paced_by":"workspace"}`,
		},
		"before the invitation ends": {
			people.EarlierEmails{ToAddress: at(6*24 - 1)},
			`{"status":"delayed","due_at":"2026-05-08T08:00:00.000Z","paced_by":"address"}`,
		},
	} {
		text, err := json.Marshal(r.ScheduleEmail(c.earlier))
		if err != nil || string(text) != c.want {
			t.Errorf("%s: %s, %v; want %s", name, text, err, c.want)
		}
	}
	r.SendEmail = false
	if text, err := json.Marshal(r.ScheduleEmail(people.EarlierEmails{InWorkspace: at(5)})); err != nil ||
		string(text) != `{"status":"none","due_at":null,"paced_by":null}` {
		t.Errorf("without mail: %s, %v", text, err)
	}
}
